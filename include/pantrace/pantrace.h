/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint is one line:
 *
 *	PANTRACE(provider, name, id, request->url, latency);
 *
 * PROVIDER and NAME are identifiers. Fields (at most 16) take their names from the text of the
 * arguments and their types from the arguments: integers, bool, float and double, pointers, C
 * strings; PT_STRN(s, n) is a string of at most n bytes, PT_SEQ(p, n) n numbers, PT_ARRAY(a) all of
 * an array, PT_HEX(x) integers (also of PT_SEQ or PT_ARRAY) that are shown with base 16, PT_ENUM(e,
 * x) a value with the names of PANTRACE_ENUM(e, ...), PT_STRUCT(name, fields...) a nested structure
 * (up to two deep), PT_NAMED(name, x) a field with a name of its own. Arguments are evaluated only
 * while the event is on, and then once each. A string longer than PANTRACE_STRING_MAX - 1 bytes may
 * be cut.
 *
 *	PANTRACE_AT(level, provider, name, ...)	with a log level; PANTRACE's is PANTRACE_DEBUG_LINE
 *	PANTRACE_USDT(provider, name, ...)	the USDT note tells where the arguments are
 *						(integers and pointers, at most 12), which are
 *						therefore evaluated always
 *	PANTRACE_ENABLED(provider, name)	whether the event is on
 *	PANTRACE_LOG(format, ...)		event log:message, as printf() would say it
 *	PANTRACE_LOG_AT(level, format, ...)
 *
 * While the event is off a site is one instruction that nobody depends on, `test $offset,%eax`. Its
 * last four bytes are the offset of the jump that turns the event on, so that one byte switches
 * (0xa9 to 0xe9): a store that every thread sees either whole or not at all, whatever its
 * alignment, and that never moves an instruction boundary. The nop before it is the address of the
 * USDT note, for other tools to put their breakpoint on; the two never touch the same byte.
 */
#ifndef PANTRACE_PANTRACE_H
#define PANTRACE_PANTRACE_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#if !defined(__x86_64__) || !defined(__linux__) || defined(__ILP32__)
#error "pantrace: this version instruments x86-64 Linux programs"
#endif

#include <pantrace/ring.h>
#include <stddef.h>
#include <stdint.h>

#ifndef PANTRACE_STRING_MAX
#define PANTRACE_STRING_MAX 256 /* bytes that each string or sequence adds to the stack frame */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The constant part of an event: one a macro (one an instance of a template), any number of sites.
 */
struct pantrace_event {
	const char *provider;
	const char *name;
	const char *fields; /* the text of the arguments */
	const unsigned char *types; /* enum pantrace_type, ends with PANTRACE_T_END */
	/* of the enum fields, in their order; may be NULL */
	const struct pantrace_enum *const *enums;
	uint32_t level; /* enum pantrace_level */
	uint32_t id; /* in this process; the library's */
	uint32_t sessions; /* bits: the sessions that want it; the library's */
	uint32_t reserved;
	/* the one session that wants it, if that is all; the library's */
	struct pt_session *only;
	struct pantrace_hooks *hooks; /* filters, counters and scripts; the library's */
};

/* syslog's first eight, then LTTng's grades of debugging. */
enum pantrace_level {
	PANTRACE_EMERG,
	PANTRACE_ALERT,
	PANTRACE_CRIT,
	PANTRACE_ERR,
	PANTRACE_WARNING,
	PANTRACE_NOTICE,
	PANTRACE_INFO,
	PANTRACE_DEBUG_SYSTEM,
	PANTRACE_DEBUG_PROGRAM,
	PANTRACE_DEBUG_PROCESS,
	PANTRACE_DEBUG_MODULE,
	PANTRACE_DEBUG_UNIT,
	PANTRACE_DEBUG_FUNCTION,
	PANTRACE_DEBUG_LINE,
	PANTRACE_DEBUG,
};

struct pantrace_enum_value {
	const char *name; /* NULL: the last value of a range that begins with the entry before */
	long long value;
};

struct pantrace_enum {
	uint32_t n;
	const struct pantrace_enum_value *values;
};

/* Both are relative to the address of the field itself: no relocation at load time. */
struct pantrace_site {
	int32_t code;
	int32_t event;
};

/* One an executable or shared object. */
struct pantrace_object {
	const struct pantrace_site *sites, *end;
	struct pantrace_object *next;
	unsigned int users;
};

void pantrace_object_add(struct pantrace_object *object, const struct pantrace_site *sites,
			 const struct pantrace_site *end);
void pantrace_object_remove(struct pantrace_object *object);

/* RECORD starts with 16 bytes of which the first 12 are the library's to fill: see ring.h. */
void pantrace_emit(const struct pantrace_event *event, void *record, size_t size);
unsigned char *pantrace_put_string(unsigned char *to, unsigned char *end, const char *string);
unsigned char *pantrace_put_text(unsigned char *to, unsigned char *end, const char *text, size_t n);
unsigned char *pantrace_put_sequence(unsigned char *to, unsigned char *end, const void *from,
				     size_t n, size_t element);
unsigned char *pantrace_put_format(unsigned char *to, unsigned char *end, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
unsigned char *pantrace_put_vformat(unsigned char *to, unsigned char *end, const char *format,
				    __builtin_va_list arguments)
	__attribute__((format(printf, 3, 0)));

/*
 * Events whose names are known only at run time, for the bindings of other languages. FIELDS is
 * "name:type, ..."; types are i8 u8 i16 u16 i32 u32 i64 u64, x8 x16 x32 x64 (u8 .. u64, shown with
 * base 16), f32 f64 bool ptr string text (n bytes) and seq_TYPE. The event lives as long as the
 * process; the same names and fields give the same one. NULL with errno: EINVAL (a name or a type),
 * E2BIG (more than 16 fields), ENOMEM.
 */
struct pantrace_value {
	union {
		int64_t i; /* i*, u*, bool */
		double f; /* f32, f64 */
		const void *p; /* ptr, string, text, seq */
	} value;
	uint64_t n; /* text: bytes; seq: elements */
};
struct pantrace_event *pantrace_dynamic(const char *provider, const char *name, const char *fields,
					int level);
int pantrace_dynamic_enabled(const struct pantrace_event *event);
/* VALUES of all fields. Does nothing while the event is off. */
void pantrace_dynamic_emit(const struct pantrace_event *event, const struct pantrace_value *values);

#ifndef PANTRACE_NO_SITES /* a file that reads the table of others and has no site itself */
extern const struct pantrace_site __start_pantrace_table[]
	__attribute__((weak, visibility("hidden")));
extern const struct pantrace_site __stop_pantrace_table[]
	__attribute__((weak, visibility("hidden")));

__attribute__((weak, visibility("hidden"))) struct pantrace_object pantrace_this_object;

/* Every file that includes this header calls in; the object is added once. */
__attribute__((constructor(101), used)) static void pantrace_object_begin_(void)
{
	if (__start_pantrace_table != __stop_pantrace_table)
		pantrace_object_add(&pantrace_this_object, __start_pantrace_table,
				    __stop_pantrace_table);
}

__attribute__((destructor(101), used)) static void pantrace_object_end_(void)
{
	if (__start_pantrace_table != __stop_pantrace_table)
		pantrace_object_remove(&pantrace_this_object);
}
#endif

struct pantrace_text_ {
	const char *text;
	size_t size;
};

#ifdef __cplusplus
}
#endif

#define PT_NAMED(name, x) x
/* What begins with () is no expression: see PT_KIND_. */
#define PT_ENUM(name, x)     ()(ENUM_, pt_enum_##name##_, x)
#define PT_ARRAY(a)	     ()(ARRAY_, a)
#define PT_HEX(x)	     PT_PASTE2_(PT_HEX_OF_, PT_KIND_(x))(x)
#define PT_STRUCT(name, ...) ()(STRUCT_, __VA_ARGS__)

/*
 * PANTRACE_ENUM(colour, red, green, PT_LABEL("dark blue", blue)): names of values, at file scope.
 * At most 64.
 */
#define PANTRACE_ENUM(name, ...)                                                        \
	static const struct pantrace_enum_value pt_values_##name##_[]                   \
		__attribute__((unused)) = {PT_ENUM_EACH_(PT_ENUM_VALUE_, __VA_ARGS__)}; \
	static const struct pantrace_enum pt_enum_##name##_ __attribute__((unused)) = { \
		sizeof(pt_values_##name##_) / sizeof(pt_values_##name##_[0]), pt_values_##name##_}
#define PT_LABEL(text, value)	      ()(LABEL_, text, value)
#define PT_ENUM_VALUE_(x)	      PT_DISPATCH1_(PT_ENUM_VALUE_, PT_KIND_(x), x)
#define PT_ENUM_VALUE_PLAIN_(x)	      {#x, (long long)(x)},
#define PT_ENUM_VALUE_LABEL_(text, x) {text, (long long)(x)},

#include <pantrace/detail/fields.h>
#ifdef __cplusplus
#include <pantrace/detail/fields_cxx.h>
#else
#include <pantrace/detail/fields_c.h>
#endif
#include <pantrace/detail/each.h>
#include <pantrace/detail/site.h>

#define PANTRACE(provider, name, ...) \
	PT_TRACE_(PANTRACE_DEBUG_LINE, #provider, #name, "" #__VA_ARGS__, "", , __VA_ARGS__)
#define PANTRACE_AT(level, provider, name, ...) \
	PT_TRACE_(level, #provider, #name, "" #__VA_ARGS__, "", , __VA_ARGS__)
#define PANTRACE_USDT(provider, name, ...)                                                       \
	PT_TRACE_(PANTRACE_DEBUG_LINE, #provider, #name, "" #__VA_ARGS__, PT_NOTE_(__VA_ARGS__), \
		  PT_INPUTS_(__VA_ARGS__), __VA_ARGS__)

#define PT_TRACE_(level, provider, name, text, note, inputs, ...)                                \
	do {                                                                                     \
		PT_LABEL_(pt_on_)                                                                \
		PT_EVENT_(provider, name, text, level, (PT_EACH_(PT_ENUMS1_, __VA_ARGS__)),      \
			  PT_EACH_(PT_TYPE1_, __VA_ARGS__) PANTRACE_T_END);                      \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, provider, name, note, inputs)                    \
		{                                                                                \
			enum {                                                                   \
				pt_fixed_ = 0 PT_EACH_(PT_FIXED1_, __VA_ARGS__),                 \
				pt_varying_ = 0 PT_EACH_(PT_VARY1_, __VA_ARGS__),                \
				pt_room_ = 24 + pt_fixed_ + PANTRACE_STRING_MAX * pt_varying_,   \
			};                                                                       \
			PT_ON_(pt_on_)                                                           \
			__attribute__((aligned(8))) unsigned char pt_record_[pt_room_];          \
			unsigned char *pt_to_ = pt_record_ + 12;                                 \
			unsigned char *const pt_end_ = pt_record_ + pt_room_ - pt_fixed_ - 8;    \
			(void)pt_end_;                                                           \
			PT_EACH_(PT_STORE1_, __VA_ARGS__)                                        \
			pantrace_emit(&PT_EVENT_OF_, pt_record_, (size_t)(pt_to_ - pt_record_)); \
		}                                                                                \
	} while (0)

#define PANTRACE_LOG(...)	    PANTRACE_LOG_AT(PANTRACE_INFO, __VA_ARGS__)
#define PANTRACE_LOG_AT(level, ...) PT_LOG_(pantrace_put_format, level, __VA_ARGS__)
/* The same for a va_list, as vprintf() is for printf(). */
#define PANTRACE_VLOG_AT(level, format, arguments) \
	PT_LOG_(pantrace_put_vformat, level, format, arguments)
#define PT_LOG_(put, level, ...)                                                                 \
	do {                                                                                     \
		PT_LABEL_(pt_on_)                                                                \
		PT_EVENT_("log", "message", "message", level, (), PANTRACE_T_STRING,             \
			  PANTRACE_T_END);                                                       \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, "log", "message", "", )                          \
		{                                                                                \
			PT_ON_(pt_on_)                                                           \
			__attribute__((                                                          \
				aligned(8))) unsigned char pt_record_[24 + PANTRACE_STRING_MAX]; \
			unsigned char *const pt_to_ =                                            \
				put(pt_record_ + 12, pt_record_ + 16 + PANTRACE_STRING_MAX,      \
				    __VA_ARGS__);                                                \
			pantrace_emit(&PT_EVENT_OF_, pt_record_, (size_t)(pt_to_ - pt_record_)); \
		}                                                                                \
	} while (0)

/* Whether events of this name are on: for arguments that take work of several statements. */
#define PANTRACE_ENABLED(provider, name)                                                        \
	__extension__({                                                                         \
		PT_LABEL_(pt_on_)                                                               \
		PT_EVENT_(#provider, #name, 0, 0, (), PANTRACE_T_GATE, PANTRACE_T_END);         \
		int pt_enabled_;                                                                \
		pt_enabled_ = 0; /* apart: clang lets no jump cross an initialisation in C++ */ \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, #provider, #name, "", )                         \
		{                                                                               \
			PT_ON_(pt_on_)                                                          \
			pt_enabled_ = 1;                                                        \
		}                                                                               \
		pt_enabled_;                                                                    \
	})

#endif
