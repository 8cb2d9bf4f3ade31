/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"
#include "binary/elf/internal.h"
#include "tap.h"

/*
 * C++: f(pair<int, int>, pair of two of those, pair of two of those ...). Rust: the same of tuples;
 * a reference is to a place behind "_R", in base 62. D: of associative arrays, each the key and
 * value of the next.
 */
static char *doubled(char of, u32 times)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct strbuf s = STRBUF_INIT;
	size_t at;

	strbuf_addstr(&s, of == 'C' ? "_Z1fSt4pairIiiE" : of == 'R' ? "_RINvC1a1f" : "_D1fF");
	at = s.len;
	if (of == 'R')
		strbuf_addstr(&s, "TllE");
	if (of == 'D')
		strbuf_addstr(&s, "Hii");
	for (u32 i = 0; i < times; i++) {
		const size_t here = s.len, from = at - 2;

		if (of == 'C') {
			strbuf_addf(&s, "S_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
				    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
		} else if (of == 'R') {
			char reference[8] = "B_";

			if (from && from <= 62)
				snprintf(reference, sizeof(reference), "B%c_", digits[from - 1]);
			else if (from)
				snprintf(reference, sizeof(reference), "B%c%c_",
					 digits[(from - 1) / 62], digits[(from - 1) % 62]);
			strbuf_addf(&s, "T%s%sE", reference, reference);
		} else {
			strbuf_addf(&s, "HQ%cQ%c", (int)('a' + here + 1 - at),
				    (int)('a' + here + 3 - at));
		}
		at = here;
	}
	strbuf_addstr(&s, of == 'R' ? "E" : of == 'D' ? "Zv" : "");
	return strbuf_detach(&s);
}

/* A short one is told in full; a long one, which would take all memory, is left as it is. */
static void doubling(char of, u32 some, size_t least)
{
	char *name = doubled(of, some), *out = demangle(name);

	ok(out && strlen(out) >= least, "%c: %zu bytes are %zu", of, strlen(name),
	   out ? strlen(out) : 0);
	free(out);
	free(name);
	name = doubled(of, 30);
	out = demangle(name);
	ok(!out, "%c: %zu bytes that would be some GB are left alone", of, strlen(name));
	free(out);
	free(name);
}

int main(void)
{
	static const struct {
		const char *mangled, *want;
	} names[] = {
		{"_ZN2ns3fooEi", "ns::foo(int)"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		 "core::fmt::Formatter::write_str"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_D3std5stdio7writelnFZv", "std.stdio.writeln()"},
		{"_DYNAMIC", NULL},
		{"main", NULL},
		{"_start", NULL},
		{"_Z", NULL},
		{"_ZZZZZZ", NULL},
		{"", NULL},
	};
	char *deep = xmalloc(20001), *out;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		out = demangle(names[i].mangled);
		is_str(out, names[i].want, names[i].mangled);
		free(out);
	}
	out = demangle_without_parameters("_ZN2ns3fooEi");
	is_str(out, "ns::foo", "without parameters");
	free(out);
	memset(deep, 'P', 20000);
	memcpy(deep, "_Z1f", 4);
	deep[20000] = 0;
	out = demangle(deep);
	ok(!out, "a name of 20 kB is left alone");
	deep[10000] = 0;
	free(demangle(deep));
	ok(1, "one of 10 kB does no harm");
	doubling('C', 8, 10000);
	doubling('R', 8, 1000);
	doubling('D', 4, 50);
	free(deep);
	return tap_done();
}
