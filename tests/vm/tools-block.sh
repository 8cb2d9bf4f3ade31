# SPDX-License-Identifier: GPL-2.0-or-later
# Block and cache tools on a distribution's kernel: the truth is what dd was told to do.
dd if=/dev/zero of=/tmp/disk bs=1M count=48 2>/dev/null
losetup /dev/loop0 /tmp/disk

# measured COMMAND...: what it prints of the same requests
measured()
{
	begin "$@"
	dd if=/dev/loop0 of=/dev/null bs=64k count=20 iflag=direct 2>/dev/null
	dd if=/dev/zero of=/dev/loop0 bs=4k count=30 oflag=direct 2>/dev/null
	end
}
measured pantrace iolatency -d loop0 3600
mv /tmp/out /tmp/out2
measured pantrace bitesize -D loop0
mv /tmp/out /tmp/out3
measured pantrace iosnoop -d loop0
is "$(awk '$3 == "R" || $3 == "RS" { n++; if ($6 == 65536) b++ } END { print n, b }' /tmp/out)" "20 20" "iosnoop: 20 reads of 64 KB"
is "$(awk '$3 ~ /^W/ { b += $6 } END { print b }' /tmp/out)" 122880 "iosnoop: all that was written"
like "$(head -3 /tmp/out)" '^COMM +PID +TYPE +DEV +BLOCK +BYTES +LATms$' "iosnoop: columns"
is "$(awk '/ -> / { for (i = 1; i <= NF; i++) if ($i == ":") n += $(i + 1) } END { print n }' /tmp/out2)" 50 "iolatency: 50 requests in all"
like "$(cat /tmp/out3)" ' 1 -> 8 +: 30 ' "bitesize: 30 of 4 KB"
like "$(cat /tmp/out3)" ' 64 -> 128 +: 20 ' "bitesize: 20 of 64 KB"

# A file of 8 MB read twice: 2048 pages come in, then 2048 are found.
dd if=/dev/zero of=/tmp/disk2 bs=1M count=32 2>/dev/null
losetup /dev/loop1 /tmp/disk2
exec 9</dev/loop1 # the last one to close a block device drops its cache
mkfifo /tmp/go
row='$1 ~ /^[0-9]/'
for round in cold warm; do
	# A longer interval where the machine is so busy that dd has not ended in it. The reader of the word touches nothing while it waits.
	for seconds in 10 40; do
		[ $round = warm ] || blockdev --flushbufs /dev/loop1
		(read -r _ </tmp/go; exec dd if=/dev/loop1 of=/dev/null bs=64k count=128 2>/dev/null) &
		reader=$!
		begin pantrace cachestat -p $reader -D $seconds 1
		echo go >/tmp/go
		wait $reader
		usleep 300000
		early=$(awk "$row" /tmp/out)
		wait $tool
		[ -n "$early" ] || break
	done
	hits=$(awk '$1 ~ /^[0-9]/ { print $1 }' /tmp/out)
	misses=$(awk '$1 ~ /^[0-9]/ { print $2 }' /tmp/out)
	sed 's/^/# /' /tmp/out
	if [ $round = cold ]; then
		[ "$misses" -ge 2048 ] && [ "$misses" -le 2200 ]; ok "cachestat: 2048 pages were missing: $misses"
		others=$hits # of the pages of dd itself, which are marked when it ends
	else
		hits=$((hits - others))
		[ "$hits" -ge 1900 ] && [ "$hits" -le 2200 ]; ok "cachestat: 2048 pages were found: $hits"
		[ "$misses" -le 100 ]; ok "cachestat: none was missing: $misses"
	fi
done
exec 9<&-
losetup -d /dev/loop0
losetup -d /dev/loop1
done_testing
