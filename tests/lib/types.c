// SPDX-License-Identifier: MIT
/* All kinds of fields, as a program writes them; compiled as C and as C++. Prints what it meant. */
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pantrace/reader.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum colour { red, green = 5, blue, minus = -2 };
PANTRACE_ENUM(colour, red, green, PT_LABEL("dark blue", blue), minus);

/* also what some of the fields cannot hold */
PANTRACE_ENUM(label, PT_LABEL("none", -1), PT_LABEL("one", 1), PT_LABEL("far", 300),
	      PT_LABEL("least", -9223372036854775807ll - 1));

struct request {
	int id;
	const char *url;
	enum colour colour;
	short coordinates[3];
	struct {
		float x;
		double y;
	} point;
};

static __attribute__((noinline)) void integers(signed char a, unsigned char b, short c,
					       unsigned short d, int e, unsigned int f, long g,
					       unsigned long h)
{
	PANTRACE(types, integers, a, b, c, d, e, f, g, h, (long long)-1, (unsigned long long)-1);
}

static __attribute__((noinline)) void nested(const struct request *r)
{
	PANTRACE(types, nested,
		 PT_STRUCT(request, r->id, PT_ENUM(colour, r->colour),
			   PT_STRUCT(point, PT_NAMED(x, r->point.x), PT_NAMED(y, r->point.y)),
			   PT_STRN(r->url, 3)),
		 PT_NAMED(after, PT_ENUM(colour, blue)), PT_ARRAY(r->coordinates),
		 PT_SEQ(r->coordinates, 2), PT_NAMED(last, r->id == 42));
}

static __attribute__((noinline)) void labels(unsigned char u8, signed char s8, unsigned int u32,
					     unsigned long u64, long s64, bool yes)
{
	PANTRACE(types, labels, PT_ENUM(label, u8), PT_ENUM(label, s8), PT_ENUM(label, u32),
		 PT_ENUM(label, u64), PT_ENUM(label, s64), PT_ENUM(label, yes));
}

/* Names that are those of lengths, and names that begin with '_'. */
static __attribute__((noinline)) void lengths(const char *body, int body_length, int _id, int id)
{
	PANTRACE(types, lengths, PT_STRN(body, 2), body_length, _id, id,
		 PT_NAMED(_body, PT_STRN(body, 3)),
		 PT_STRUCT(inner, PT_STRN(body, 1), PT_NAMED(_body_length, 5)));
}

/* Numbers that people read with base 16. */
static __attribute__((noinline)) void hexes(int flags, const struct request *r,
					    const unsigned char *key)
{
	const unsigned char id[2] = {0xab, 1};

	PANTRACE(types, hexes, PT_HEX(flags), PT_NAMED(mask, PT_HEX(~0ull)), PT_HEX((short)-2),
		 PT_HEX(PT_SEQ(key, 2)), PT_HEX(PT_ARRAY(id)),
		 PT_STRUCT(in, PT_HEX(r->coordinates[2]), PT_HEX(PT_ARRAY(r->coordinates))),
		 PT_NAMED(yes, PT_HEX((bool)(flags > 1))), PT_HEX(PT_NAMED(plain, flags)), flags);
}

static __attribute__((noinline)) void sixteen(int x)
{
	PANTRACE(types, sixteen, x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9,
		 x + 10, x + 11, x + 12, x + 13, x + 14, x + 15);
}

static __attribute__((noinline)) void usdt(int a, long b, unsigned char c, const char *d,
					   const struct request *e)
{
	PANTRACE_USDT(types, usdt, a, b, c, d, e);
}

static __attribute__((noinline)) void levels(int x)
{
	PANTRACE_AT(PANTRACE_ERR, types, error, x);
	PANTRACE_AT(PANTRACE_INFO, types, info, x);
	PANTRACE_LOG("x is %d, %s", x, "so it is");
	PANTRACE_LOG_AT(PANTRACE_ERR, "no arguments");
}

/* A site in memory that cannot be written: a page shared with a file. */
static int refused(void)
{
	static const unsigned char types[] = {PANTRACE_T_END};
	static struct pantrace_event event = {"types", "sealed", "", types, 0, 0, 0, 0, 0, 0, 0};
	static struct pantrace_object object;
	static struct pantrace_site *site;
	const int fd = memfd_create("code", 0);
	unsigned char *code;

	if (ftruncate(fd, 8192))
		return -1;
	/* code and table in one mapping, so that offsets fit */
	code = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (code == MAP_FAILED)
		return -1;
	code[0] = 0xa9;
	site = (struct pantrace_site *)(code + 4096);
	site->code = (int)(code - (unsigned char *)&site->code);
	site->event = (int)((unsigned char *)&event - (unsigned char *)&site->event);
	if ((unsigned char *)&site->event + site->event != (unsigned char *)&event)
		return -2; /* too far for 32 bits: the caller places nothing */
	mprotect(code, 8192, PROT_READ);
	pantrace_object_add(&object, site, site + 1);
	return code[0];
}

int main(int argc, char **argv)
{
	struct request r = {42, "/index", green, {-1, 2, 300}, {1.5f, -2.25}};
	struct pantrace_options options;
	struct pantrace_reader *reader;
	struct pantrace_counts counts;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	if (argc > 1 && !strcmp(argv[1], "usdt")) { /* off, for other tracers */
		for (int i = 0; i < (argc > 2 ? 300 : 3); i++) {
			usdt(-5 - i, 1l << 40, 200, "hello", &r);
			usleep(10000);
		}
		printf("%p\n", (void *)&r);
		return 0;
	}
	if (pantrace_start(&options))
		return 1;
	levels(1); /* off */
	if (pantrace_enable("types:*") < 0 || pantrace_enable("log:*") < 0)
		return 2;
	integers(-1, 255, -2, 65535, -3, 0xffffffff, -4, ~0ul);
	nested(&r);
	labels(255, -1, 0xffffffff, ~0ul, -9223372036854775807l - 1, true);
	lengths("abc", 7, 1, 2);
	hexes(255, &r, (const unsigned char *)"\x10\xff");
	sixteen(100);
	usdt(-5, 1l << 40, 200, "hello", &r);
	levels(7);
	if (!PANTRACE_ENABLED(types, nested))
		return 3;
	pantrace_disable("types:nested");
	if (PANTRACE_ENABLED(types, nested))
		return 4;
	if (pantrace_count(&counts) || pantrace_reader_open_fd(pantrace_fd(), 0, &reader) ||
	    pantrace_ctf_write(reader, argv[1]))
		return 5;
	pantrace_reader_close(reader);
	if (pantrace_refused())
		return 6;
	if (refused() == 0xa9 && (pantrace_enable("types:*") < 0 || pantrace_refused() != 1))
		return 7;
	printf("%p %d\n", (void *)&r, (int)counts.events);
	return pantrace_stop() ? 8 : 0;
}
