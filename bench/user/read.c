// SPDX-License-Identifier: MIT
/* read DIRECTORY N: a CTF trace with N events of an int and N of an int and a 16-byte string. */
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/reader.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const struct pantrace_options options = {
		.size = sizeof(options), .sub_size = 1 << 26, .nr_subs = 2};
	struct pantrace_reader *reader;
	const int n = argc > 2 ? atoi(argv[2]) : 0;

	if (pantrace_start(&options) || pantrace_enable("*") < 0)
		return 1;
	for (int i = 0; i < n; i++) {
		PANTRACE(bench, number, i);
		PANTRACE(bench, text, i, PT_NAMED(text, "hello world 1234"));
	}
	return pantrace_reader_open_fd(pantrace_fd(), false, &reader) ||
	       pantrace_ctf_write(reader, argv[1]);
}
