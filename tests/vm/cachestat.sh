# SPDX-License-Identifier: GPL-2.0-or-later
# cachestat by kprobes: a program that asks the kernel which pages are there before it uses them (tests/programs/pagecache.c) is the truth.
# guest: older; check-all: newer
# modules: ext4 crc32c_generic
dd if=/dev/zero of=/tmp/disk bs=1M count=24 2>/dev/null
losetup /dev/loop1 /tmp/disk
mke2fs -q /dev/loop1 >/dev/null 2>&1 || mke2fs /dev/loop1 >/dev/null
mkdir -p /tmp/mounted
mount /dev/loop1 /tmp/mounted
dd if=/dev/urandom of=/tmp/mounted/file bs=100 count=3000 2>/dev/null
sync
# next_row: until there is one more, which has all that came before
next_row()
{
	rows=$(wc -l </tmp/out)
	more() { [ "$(wc -l </tmp/out)" -gt $rows ]; }
	until_true more
}
# count FILE MODES...: in /tmp/truth and /tmp/counted
count()
{
	file=$1
	shift
	rm -f /tmp/ready /tmp/go
	/programs/pagecache $file /tmp/ready /tmp/go "$@" >/tmp/truth &
	user=$!
	until_true [ -e /tmp/ready ]
	begin pantrace cachestat -p $user 1
	: >/tmp/go
	wait $user
	next_row
	end
	sed 's/^/# /' /tmp/err
	awk '$1 ~ /^[0-9]+$/ { hits += $1; misses += $2 } END { print hits + 0, misses + 0 }' /tmp/out >/tmp/counted
}
# judged FILE MODES...: once more if a page that is read ahead came between the program's look and its use
judged()
{
	for _ in 1 2 3; do
		count "$@"
		! cmp -s /tmp/counted /tmp/truth || break
	done
	shift
	is "$(cat /tmp/counted)" "$(cat /tmp/truth)" "$*: hits and misses ($(cat /tmp/truth))"
}
judged /tmp/mounted/file cold bytes bytes
judged /tmp/mounted/file cold some bytes
judged /tmp/mounted/file cold whole whole
judged /tmp/mounted/file cold map map
judged /tmp/mounted/file cold ahead bytes
judged /tmp/mounted/file cold send send
judged /tmp/mounted/file cold direct write
umount /tmp/mounted
judged /dev/loop1 cold some
losetup -d /dev/loop1

# The pages of tmpfs are memory, no cache of anything.
mount -t tmpfs tmpfs /tmp/mounted
cp /tmp/go /tmp/mounted/file
dd if=/dev/zero of=/tmp/mounted/file bs=4096 count=20 2>/dev/null
rm -f /tmp/ready /tmp/go
/programs/pagecache /tmp/mounted/file /tmp/ready /tmp/go bytes map >/tmp/truth &
user=$!
until_true [ -e /tmp/ready ]
begin pantrace cachestat -p $user 1
: >/tmp/go
wait $user
next_row
end
is "$(awk '$1 ~ /^[0-9]+$/ { n += $1 + $2 } END { print n + 0 }' /tmp/out)" 0 "tmpfs is not counted"
umount /tmp/mounted
done_testing
