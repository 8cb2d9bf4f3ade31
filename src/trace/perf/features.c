/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a perf.data says of the machine that it was recorded on. */
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "trace/perf/writer.h"

#define WORDS_MAX (1u << 16) /* bytes of a command line */

/* u32 length, then so many bytes, zeros at the end, at least one. */
void perf_feature_string(struct strbuf *to, const char *text)
{
	const size_t len = strlen(text) + 1;
	const u32 size = (u32)ALIGN_UP(len, (size_t)64);

	strbuf_add(to, &size, sizeof(size));
	strbuf_add(to, text, len);
	strbuf_addchars(to, 0, (int)(size - len));
}

static void string(struct perf_writer *w, u32 feature, const char *text)
{
	struct strbuf to = STRBUF_INIT;

	perf_feature_string(&to, text);
	perf_writer_feature(w, feature, to.data, to.len);
	strbuf_release(&to);
}

static void processors(struct perf_writer *w)
{
	static const char key[] = "model name";
	const u32 counts[] = {(u32)get_nprocs_conf(), (u32)get_nprocs()};
	char *text, *at, *name;
	size_t len;

	perf_writer_feature(w, PERF_FEATURE_NRCPUS, counts, sizeof(counts));
	if (file_read("/proc/cpuinfo", 0, &text, &len))
		return;
	at = strstr(text, key);
	name = at ? strchr(at, ':') : NULL;
	if (name) {
		name += 1 + strspn(name + 1, " \t");
		name[strcspn(name, "\n")] = 0;
		string(w, PERF_FEATURE_CPUDESC, name);
	}
	free(text);
}

/* Our own words, as the kernel has them. */
static void words(struct perf_writer *w)
{
	struct strbuf to = STRBUF_INIT;
	u32 count = 0;
	size_t len;
	char *text;

	if (file_read("/proc/self/cmdline", WORDS_MAX, &text, &len))
		return;
	strbuf_add(&to, &count, sizeof(count));
	for (const char *word = text; word < text + len; word += strlen(word) + 1) {
		perf_feature_string(&to, word);
		count++;
	}
	memcpy(to.data, &count, sizeof(count));
	perf_writer_feature(w, PERF_FEATURE_CMDLINE, to.data, to.len);
	strbuf_release(&to);
	free(text);
}

void perf_write_machine(struct perf_writer *w)
{
	const u64 memory_kb = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / 1024;
	struct utsname name;

	if (!uname(&name)) {
		string(w, PERF_FEATURE_HOSTNAME, name.nodename);
		string(w, PERF_FEATURE_OSRELEASE, name.release);
		string(w, PERF_FEATURE_ARCH, name.machine);
	}
	string(w, PERF_FEATURE_VERSION, "pantrace " PANTRACE_VERSION);
	processors(w);
	perf_writer_feature(w, PERF_FEATURE_TOTAL_MEM, &memory_kb, sizeof(memory_kb));
	words(w);
}

void perf_write_other_machine(struct perf_writer *w, const char *host)
{
	if (host)
		string(w, PERF_FEATURE_HOSTNAME, host);
	string(w, PERF_FEATURE_VERSION, "pantrace " PANTRACE_VERSION);
	words(w);
}

void perf_write_symbols(struct perf_writer *w, const char *text, size_t len)
{
	const size_t room = ZSTD_compressBound(len);
	struct strbuf packed = STRBUF_INIT;
	ZSTD_CCtx *packer = ZSTD_createCCtx();
	size_t n;

	if (!packer)
		return;
	ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(packer, ZSTD_c_checksumFlag, 1); // damage must not become a name
	n = ZSTD_compress2(packer, strbuf_reserve(&packed, room), room, text, len);
	if (!ZSTD_isError(n))
		perf_writer_feature(w, PERF_FEATURE_KERNEL_SYMBOLS, packed.data, n);
	ZSTD_freeCCtx(packer);
	strbuf_release(&packed);
}
