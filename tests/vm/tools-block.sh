# SPDX-License-Identifier: GPL-2.0-or-later
# Block tools on a distribution's kernel: the truth is what dd was told to do.
# guest: older
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

losetup -d /dev/loop0
done_testing
