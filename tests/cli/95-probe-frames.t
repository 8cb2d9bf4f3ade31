#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe and scripts: where code of what is inlined stands at a function's beginning, variables are those of the function that was
# named, whatever else has their names.
. "$(dirname "$0")/lib.sh"
need_root
cat >"$work/f.c" <<'C'
struct box { int size; int *items; };
static inline __attribute__((always_inline)) int inner(struct box *value, int index)
{
	int count = value->items[index];
	return count * 7;
}
__attribute__((noinline)) int outer(int value, struct box *b, int count) { return inner(b, value) + count; }
int main(void)
{
	int items[] = {50, 60, 70}, sum = 0;
	struct box b = {3, items};
	for (int i = 0; i < 3; i++)
		sum += outer(i, &b, 9);

	return sum != 1287;
}
C
gcc -g -O2 -o "$work/f" "$work/f.c" || exit 1
chmod 755 "$work" "$work/f"
wanted="value=%di:s32 b=%si:x64 count=%dx:s32"
for definition in 'outer value b count' 'outer $params' 'f.c:7 $params'; do
	out=$($pantrace probe -x "$work/f" -D "$definition" 2>&1)
	like "$out" "^p:probe_f/outer $work/f:0x[0-9a-f]+ $wanted\$" "$definition"
done
out=$($pantrace probe -x "$work/f" -D 'main $params' 2>&1)
like "$out" 'WARNING: left out, \$params: main has no parameters' "a function without parameters is told"
like "$($pantrace probe -x "$work/f" -V outer)" '^		int	count$' "-V"
for point in outer outer:0; do
	out=$($pantrace -e "uprobe:$work/f:$point { printf(\"%d %d %d;\", vars.value, vars.count, vars.b->size); }" -c "$work/f" 2>&1 | tr -d '\n')
	like "$out" '0 9 3;1 9 3;2 9 3;' "uprobe:$point: values as the program has them"
done
done_testing
