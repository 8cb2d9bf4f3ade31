/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/elf/internal.h"
#include "tap.h"

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
	free(deep);
	return tap_done();
}
