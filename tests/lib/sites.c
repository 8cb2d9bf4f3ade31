// SPDX-License-Identifier: MIT
/* Sites: types and names of fields, evaluation, switching, a dlopen'ed object, ctf output. */
#include "../unit/tap.h"
#include <dlfcn.h>
#include <errno.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/reader.h>
#include <stdlib.h>
#include <unistd.h>

struct request {
	int id;
	const char *url;
};

static int evaluated;

static int evaluate(int x)
{
	evaluated++;
	return x;
}

static inline __attribute__((always_inline)) void inlined(int n)
{
	PANTRACE(test, inlined, n);
}

static __attribute__((noinline)) int sites(const struct request *r, const char *text, double d)
{
	int array[3] = {7, 8, 9};
	unsigned char small = 200;
	_Bool yes = 1;

	PANTRACE(test, none);
	PANTRACE(test, one, r->id);
	PANTRACE(test, types, small, (short)-3, r->url, d, PT_STRN(text, 3), PT_SEQ(array, 3), yes,
		 PT_NAMED(twice, r->id * 2), (void *)r, r->id % 5, "a,\"b", 1.5f);
	PANTRACE(test, evaluated, evaluate(r->id));
	inlined(1);
	inlined(2);
	return PANTRACE_ENABLED(test, one) ? 1 : 0;
}

static int count_on(const char *provider, const char *name, int on, void *ctx)
{
	int *counts = ctx;

	(void)provider;
	(void)name;
	counts[0]++;
	counts[1] += on;
	return 0;
}

static void call_plugin(void *plugin, int n)
{
	void (*fn)(int);

	*(void **)&fn = dlsym(plugin, "plugin_event");
	fn(n);
}

/* A field is where the one before ends: unaligned. */
#define GET(type, from)                                \
	({                                             \
		type value_;                           \
		memcpy(&value_, from, sizeof(value_)); \
		value_;                                \
	})

static void check_types(const struct pantrace_event_view *event, const struct request *r)
{
	static const char *const names[] = {"small", "short_3", "r_url",  "d",	    "text", "array",
					    "yes",   "twice",	"void_r", "r_id_5", "a_b",  "1_5f"};
	const unsigned char *p = event->fields;
	char got[256] = "";

	for (uint32_t i = 0; i < event->type->nr_fields; i++)
		is_str(event->type->field[i].name, names[i], "name of a field");
	is_int(event->type->nr_fields, 12, "twelve fields");
	is_int(p[0], 200, "u8");
	is_int(GET(short, (p + 1)), -3, "i16");
	is_str((const char *)p + 3, r->url, "string");
	p += 3 + strlen(r->url) + 1;
	ok(GET(double, p) == 2.5, "double");
	p += 8;
	snprintf(got, sizeof(got), "%d %.3s", GET(unsigned short, p), p + 2);
	is_str(got, "3 hel", "bounded string");
	p += 5;
	snprintf(got, sizeof(got), "%d %d %d %d", GET(unsigned short, p), GET(int, (p + 2)),
		 GET(int, (p + 6)), GET(int, (p + 10)));
	is_str(got, "3 7 8 9", "sequence");
	p += 14;
	is_int(p[0], 1, "bool");
	is_int(GET(int, (p + 1)), 84, "named");
	ok(GET(const void *, p + 5) == r, "pointer");
	is_int(GET(int, (p + 13)), 2, "expression with a percent sign");
	is_str((const char *)p + 17, "a,\"b", "literal with comma and quote");
}

int main(int argc, char **argv)
{
	const struct pantrace_options options = {.size = sizeof(options), .sub_size = 4096};
	const struct request r = {42, "/index"};
	struct pantrace_reader *reader;
	struct pantrace_packet_view packet;
	struct pantrace_event_view event;
	int counts[2] = {0, 0}, seen = 0, in_plugin = 0, inlines = 0, rc;
	void *plugin;

	is_int(sites(&r, "hello", 2.5), 0, "disabled before a session");
	pantrace_sites(count_on, counts);
	ok(counts[0] >= 7 && !counts[1], "%d sites, none on", counts[0]);
	is_int(pantrace_stop(), -ENOENT, "nothing to stop");
	is_int(pantrace_start(&options), 0, "session starts");
	is_int(pantrace_start(&options), -EBUSY, "only once");
	is_int(pantrace_enable("nothing:*"), 0, "a pattern without sites");
	sites(&r, "hello", 2.5);
	is_int(evaluated, 0, "arguments are not evaluated while off");
	rc = pantrace_enable("test:*");
	is_int(rc, counts[0], "all sites are switched on");
	is_int(sites(&r, "hello", 2.5), 1, "PANTRACE_ENABLED follows");
	is_int(evaluated, 1, "arguments are evaluated once");
	if (argc > 1) {
		plugin = dlopen(argv[1], RTLD_NOW);
		ok(plugin != NULL, "plugin loads");
		if (plugin) {
			call_plugin(plugin, 5);
			dlclose(plugin);
		}
		plugin = dlopen(argv[1], RTLD_NOW);
		if (plugin) {
			call_plugin(plugin, 6);
			dlclose(plugin);
		}
	}
	ok(pantrace_disable("test:one") >= 1, "one event is switched off");
	is_int(sites(&r, "hello", 2.5), 0, "PANTRACE_ENABLED follows again");

	is_int(pantrace_reader_open_fd(pantrace_fd(), false, &reader), 0, "reader opens");
	for (uint32_t ring = 0; ring < pantrace_reader_rings(reader); ring++) {
		while (pantrace_reader_packet(reader, ring, &packet) == 1) {
			size_t at = packet.from;

			while ((rc = pantrace_reader_event(reader, &packet, &at, &event)) == 1) {
				seen++;
				in_plugin += !strcmp(event.type->name, "from_plugin");
				inlines += !strcmp(event.type->name, "inlined");
				if (!strcmp(event.type->name, "types") && seen < 6)
					check_types(&event, &r);
			}
			is_int(rc, 0, "packet ends cleanly");
		}
	}
	is_int(seen, 6 + 5 + (argc > 1 ? 2 : 0), "all events are read");
	is_int(inlines, 4, "two inlined copies, twice");
	if (argc > 1)
		is_int(in_plugin, 2, "events of an object loaded twice");
	pantrace_reader_close(reader);
	if (argc > 2) {
		pantrace_reader_open_fd(pantrace_fd(), false, &reader);
		is_int(pantrace_ctf_write(reader, argv[2]), 0, "ctf is written");
		pantrace_reader_close(reader);
	}
	is_int(pantrace_stop(), 0, "session stops");
	counts[1] = counts[0] = 0;
	pantrace_sites(count_on, counts);
	is_int(counts[1], 0, "no site is left on");
	is_int(pantrace_start(&options), 0, "a second session starts");
	sites(&r, "hello", 2.5);
	{
		struct pantrace_counts total;

		pantrace_count(&total);
		is_int((long long)total.events, 5, "and follows the same patterns");
	}
	return tap_done();
}
