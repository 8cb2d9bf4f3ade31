/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint is one line:
 *
 *	PANTRACE(provider, name, id, request->url, latency);
 *
 * PROVIDER and NAME are identifiers. Fields (at most 16) take their names from the text of the
 * arguments and their types from the arguments: integers, bool, float and double, pointers, C
 * strings; PT_STRN(s, n) is a string of at most n bytes, PT_SEQ(p, n) n numbers, PT_ARRAY(a) all of
 * an array, PT_ENUM(e, x) a value with the names of PANTRACE_ENUM(e, ...), PT_STRUCT(name, fields...)
 * a nested structure (up to two deep), PT_NAMED(name, x) a field with a name of its own. Arguments are
 * evaluated only while the event is on, and then once each. A string longer than
 * PANTRACE_STRING_MAX - 1 bytes may be cut.
 *
 *	PANTRACE_AT(level, provider, name, ...)	with a log level; PANTRACE's is PANTRACE_DEBUG_LINE
 *	PANTRACE_USDT(provider, name, ...)	the USDT note tells where the arguments are (integers and
 *						pointers, at most 12), which are therefore evaluated always
 *	PANTRACE_ENABLED(provider, name)	whether the event is on
 *	PANTRACE_LOG(format, ...)		event log:message, as printf() would say it
 *	PANTRACE_LOG_AT(level, format, ...)
 *
 * While the event is off a site is one instruction that nobody depends on, `test $offset,%eax`. Its
 * last four bytes are the offset of the jump that turns the event on, so that one byte switches
 * (0xa9 to 0xe9): a store that every thread sees either whole or not at all, whatever its alignment,
 * and that never moves an instruction boundary. The nop before it is the address of the USDT note,
 * for other tools to put their breakpoint on; the two never touch the same byte.
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
#ifdef __cplusplus
#include <string>
#include <type_traits>
#include <utility>
#endif

#ifndef PANTRACE_STRING_MAX
#define PANTRACE_STRING_MAX 256 /* bytes that each string or sequence adds to the stack frame */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The constant part of an event: one a macro (one an instance of a template), any number of sites. */
struct pantrace_event {
	const char *provider;
	const char *name;
	const char *fields;	    /* the text of the arguments */
	const unsigned char *types; /* enum pantrace_type, ends with PANTRACE_T_END */
	const struct pantrace_enum *const *enums; /* of the enum fields, in their order; may be NULL */
	uint32_t level;		    /* enum pantrace_level */
	uint32_t id;		    /* in this process; the library's */
	uint32_t sessions;	    /* bits: the sessions that want it; the library's */
	uint32_t reserved;
	struct pt_session *only;      /* the one session that wants it, if that is all; the library's */
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
	const char *name;
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

/*
 * Events whose names are known only at run time, for the bindings of other languages. FIELDS is
 * "name:type, ..."; types are i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 bool ptr string text (n bytes)
 * and seq_TYPE. The event lives as long as the process; the same names and fields give the same one.
 * NULL with errno: EINVAL (a name or a type), E2BIG (more than 16 fields), ENOMEM.
 */
struct pantrace_value {
	union {
		int64_t i; /* i*, u*, bool */
		double f;  /* f32, f64 */
		const void *p; /* ptr, string, text, seq */
	} value;
	uint64_t n; /* text: bytes; seq: elements */
};
struct pantrace_event *pantrace_dynamic(const char *provider, const char *name, const char *fields,
					int level);
int pantrace_dynamic_enabled(const struct pantrace_event *event);
/* VALUES of all fields. Does nothing while the event is off. */
void pantrace_dynamic_emit(const struct pantrace_event *event, const struct pantrace_value *values);

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

struct pantrace_text_ {
	const char *text;
	size_t size;
};

#ifdef __cplusplus
}
#endif

#define PT_NAMED(name, x) x
/* What begins with () is no expression: see PT_KIND_. */
#define PT_ENUM(name, x)       () (ENUM_, pt_enum_##name##_, x)
#define PT_ARRAY(a)	       () (ARRAY_, a)
#define PT_STRUCT(name, ...)   () (STRUCT_, __VA_ARGS__)

/*
 * PANTRACE_ENUM(colour, red, green, PT_LABEL("dark blue", blue)): names of values, at file scope. At
 * most 64.
 */
#define PANTRACE_ENUM(name, ...)                                                                   \
	static const struct pantrace_enum_value pt_values_##name##_[]                              \
		__attribute__((unused)) = { PT_ENUM_EACH_(PT_ENUM_VALUE_, __VA_ARGS__) };          \
	static const struct pantrace_enum pt_enum_##name##_ __attribute__((unused)) = {            \
		sizeof(pt_values_##name##_) / sizeof(pt_values_##name##_[0]), pt_values_##name##_  \
	}
#define PT_LABEL(text, value) () (LABEL_, text, value)
#define PT_ENUM_VALUE_(x)	      PT_DISPATCH1_(PT_ENUM_VALUE_, PT_KIND_(x), x)
#define PT_ENUM_VALUE_PLAIN_(x)	      { #x, (long long)(x) },
#define PT_ENUM_VALUE_LABEL_(text, x) { text, (long long)(x) },

/* ---- one field: its type, the room it takes, how it is stored ---- */

#define PT_STORE_(suffix, type)                                                                    \
	static inline __attribute__((always_inline, unused)) unsigned char *pt_put_##suffix##_(    \
		unsigned char *to, unsigned char *end, type value)                                 \
	{                                                                                          \
		(void)end;                                                                         \
		__builtin_memcpy(to, &value, sizeof(value));                                       \
		return to + sizeof(value);                                                         \
	}
PT_STORE_(i8, signed char)
PT_STORE_(u8, unsigned char)
PT_STORE_(i16, short)
PT_STORE_(u16, unsigned short)
PT_STORE_(i32, int)
PT_STORE_(u32, unsigned int)
PT_STORE_(i64, long long)
PT_STORE_(u64, unsigned long long)
PT_STORE_(f32, float)
PT_STORE_(f64, double)
#ifdef __cplusplus
PT_STORE_(bool, bool)
#else
PT_STORE_(bool, _Bool)
#endif
PT_STORE_(ptr, const volatile void *)

static inline __attribute__((always_inline, unused)) unsigned char *
pt_put_text_(unsigned char *to, unsigned char *end, struct pantrace_text_ value)
{
	return pantrace_put_text(to, end, value.text, value.size);
}

static inline __attribute__((always_inline, unused)) struct pantrace_text_
pt_make_text_(const char *text, size_t n)
{
	struct pantrace_text_ value = { text, n };
	return value;
}

#define PT_SEQUENCE_(suffix, bytes)                                                                \
	struct pt_seq_##suffix##_ {                                                                \
		const void *from;                                                                  \
		size_t n;                                                                          \
	};                                                                                         \
	static inline __attribute__((always_inline, unused)) struct pt_seq_##suffix##_             \
	pt_make_##suffix##_(const void *from, size_t n)                                             \
	{                                                                                          \
		struct pt_seq_##suffix##_ value = { from, n };                                     \
		return value;                                                                      \
	}                                                                                          \
	static inline __attribute__((always_inline, unused)) unsigned char *                       \
	pt_put_seq_##suffix##_(unsigned char *to, unsigned char *end,                              \
			       struct pt_seq_##suffix##_ value)                                    \
	{                                                                                          \
		return pantrace_put_sequence(to, end, value.from, value.n, bytes);                 \
	}
PT_SEQUENCE_(i8, 1)
PT_SEQUENCE_(u8, 1)
PT_SEQUENCE_(i16, 2)
PT_SEQUENCE_(u16, 2)
PT_SEQUENCE_(i32, 4)
PT_SEQUENCE_(u32, 4)
PT_SEQUENCE_(i64, 8)
PT_SEQUENCE_(u64, 8)
PT_SEQUENCE_(f32, 4)
PT_SEQUENCE_(f64, 8)

#ifndef __cplusplus
/* clang-format off */
#define PT_TYPE_(x) _Generic((x), \
	char: PANTRACE_T_I8, signed char: PANTRACE_T_I8, unsigned char: PANTRACE_T_U8, \
	short: PANTRACE_T_I16, unsigned short: PANTRACE_T_U16, int: PANTRACE_T_I32, \
	unsigned int: PANTRACE_T_U32, long: PANTRACE_T_I64, long long: PANTRACE_T_I64, \
	unsigned long: PANTRACE_T_U64, unsigned long long: PANTRACE_T_U64, float: PANTRACE_T_F32, \
	double: PANTRACE_T_F64, _Bool: PANTRACE_T_BOOL, char *: PANTRACE_T_STRING, \
	const char *: PANTRACE_T_STRING, struct pantrace_text_: PANTRACE_T_TEXT, struct pt_seq_i8_: PANTRACE_T_SEQUENCE | PANTRACE_T_I8, \
	struct pt_seq_u8_: PANTRACE_T_SEQUENCE | PANTRACE_T_U8, struct pt_seq_i16_: PANTRACE_T_SEQUENCE | PANTRACE_T_I16, struct pt_seq_u16_: PANTRACE_T_SEQUENCE | PANTRACE_T_U16, \
	struct pt_seq_i32_: PANTRACE_T_SEQUENCE | PANTRACE_T_I32, struct pt_seq_u32_: PANTRACE_T_SEQUENCE | PANTRACE_T_U32, struct pt_seq_i64_: PANTRACE_T_SEQUENCE | PANTRACE_T_I64, \
	struct pt_seq_u64_: PANTRACE_T_SEQUENCE | PANTRACE_T_U64, struct pt_seq_f32_: PANTRACE_T_SEQUENCE | PANTRACE_T_F32, struct pt_seq_f64_: PANTRACE_T_SEQUENCE | PANTRACE_T_F64, \
	default: PANTRACE_T_PTR)
#define PT_PUT_FN_(x) _Generic((x), \
	char: pt_put_i8_, signed char: pt_put_i8_, unsigned char: pt_put_u8_, \
	short: pt_put_i16_, unsigned short: pt_put_u16_, int: pt_put_i32_, \
	unsigned int: pt_put_u32_, long: pt_put_i64_, long long: pt_put_i64_, \
	unsigned long: pt_put_u64_, unsigned long long: pt_put_u64_, float: pt_put_f32_, \
	double: pt_put_f64_, _Bool: pt_put_bool_, char *: pantrace_put_string, \
	const char *: pantrace_put_string, struct pantrace_text_: pt_put_text_, struct pt_seq_i8_: pt_put_seq_i8_, \
	struct pt_seq_u8_: pt_put_seq_u8_, struct pt_seq_i16_: pt_put_seq_i16_, struct pt_seq_u16_: pt_put_seq_u16_, \
	struct pt_seq_i32_: pt_put_seq_i32_, struct pt_seq_u32_: pt_put_seq_u32_, struct pt_seq_i64_: pt_put_seq_i64_, \
	struct pt_seq_u64_: pt_put_seq_u64_, struct pt_seq_f32_: pt_put_seq_f32_, struct pt_seq_f64_: pt_put_seq_f64_, \
	default: pt_put_ptr_)
#define PT_VARIES_(x) _Generic((x), \
	char *: 1, const char *: 1, struct pantrace_text_: 1, struct pt_seq_i8_: 1, \
	struct pt_seq_u8_: 1, struct pt_seq_i16_: 1, struct pt_seq_u16_: 1, struct pt_seq_i32_: 1, \
	struct pt_seq_u32_: 1, struct pt_seq_i64_: 1, struct pt_seq_u64_: 1, struct pt_seq_f32_: 1, \
	struct pt_seq_f64_: 1, default: 0)
#define PT_STRN(s, n) pt_make_text_((s), (size_t)(n))
#define PT_SEQ(p, n) _Generic((p), \
	char *: pt_make_i8_, const char *: pt_make_i8_, \
	signed char *: pt_make_i8_, const signed char *: pt_make_i8_, \
	unsigned char *: pt_make_u8_, const unsigned char *: pt_make_u8_, \
	short *: pt_make_i16_, const short *: pt_make_i16_, \
	unsigned short *: pt_make_u16_, const unsigned short *: pt_make_u16_, \
	int *: pt_make_i32_, const int *: pt_make_i32_, \
	unsigned int *: pt_make_u32_, const unsigned int *: pt_make_u32_, \
	long *: pt_make_i64_, const long *: pt_make_i64_, \
	long long *: pt_make_i64_, const long long *: pt_make_i64_, \
	unsigned long *: pt_make_u64_, const unsigned long *: pt_make_u64_, \
	unsigned long long *: pt_make_u64_, const unsigned long long *: pt_make_u64_, \
	float *: pt_make_f32_, const float *: pt_make_f32_, \
	double *: pt_make_f64_, const double *: pt_make_f64_)((p), (size_t)(n))
/* clang-format on */
#define PT_PUT_(x) pt_to_ = PT_PUT_FN_(x)(pt_to_, pt_end_, (x));
/* a pointer has no length: an array of -1 characters refuses it */
#define PT_LENGTH_(a) (sizeof(a) / sizeof((a)[0]) * sizeof(char[1 - 2 * !!__builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0]))]))
#else /* C++ */
extern "C++" {
namespace pantrace
{
template <class T, class = void> struct field;
template <> struct field<char> { enum { type = PANTRACE_T_I8, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, char x) { return pt_put_i8_(to, end, x); } };
template <> struct field<signed char> { enum { type = PANTRACE_T_I8, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, signed char x) { return pt_put_i8_(to, end, x); } };
template <> struct field<pt_seq_i8_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_I8, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_i8_ x) { return pt_put_seq_i8_(to, end, x); } };
template <> struct field<unsigned char> { enum { type = PANTRACE_T_U8, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, unsigned char x) { return pt_put_u8_(to, end, x); } };
template <> struct field<pt_seq_u8_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_U8, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_u8_ x) { return pt_put_seq_u8_(to, end, x); } };
template <> struct field<short> { enum { type = PANTRACE_T_I16, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, short x) { return pt_put_i16_(to, end, x); } };
template <> struct field<pt_seq_i16_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_I16, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_i16_ x) { return pt_put_seq_i16_(to, end, x); } };
template <> struct field<unsigned short> { enum { type = PANTRACE_T_U16, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, unsigned short x) { return pt_put_u16_(to, end, x); } };
template <> struct field<pt_seq_u16_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_U16, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_u16_ x) { return pt_put_seq_u16_(to, end, x); } };
template <> struct field<int> { enum { type = PANTRACE_T_I32, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, int x) { return pt_put_i32_(to, end, x); } };
template <> struct field<pt_seq_i32_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_I32, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_i32_ x) { return pt_put_seq_i32_(to, end, x); } };
template <> struct field<unsigned int> { enum { type = PANTRACE_T_U32, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, unsigned int x) { return pt_put_u32_(to, end, x); } };
template <> struct field<pt_seq_u32_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_U32, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_u32_ x) { return pt_put_seq_u32_(to, end, x); } };
template <> struct field<long> { enum { type = PANTRACE_T_I64, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, long x) { return pt_put_i64_(to, end, x); } };
template <> struct field<long long> { enum { type = PANTRACE_T_I64, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, long long x) { return pt_put_i64_(to, end, x); } };
template <> struct field<pt_seq_i64_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_I64, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_i64_ x) { return pt_put_seq_i64_(to, end, x); } };
template <> struct field<unsigned long> { enum { type = PANTRACE_T_U64, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, unsigned long x) { return pt_put_u64_(to, end, x); } };
template <> struct field<unsigned long long> { enum { type = PANTRACE_T_U64, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, unsigned long long x) { return pt_put_u64_(to, end, x); } };
template <> struct field<pt_seq_u64_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_U64, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_u64_ x) { return pt_put_seq_u64_(to, end, x); } };
template <> struct field<float> { enum { type = PANTRACE_T_F32, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, float x) { return pt_put_f32_(to, end, x); } };
template <> struct field<pt_seq_f32_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_F32, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_f32_ x) { return pt_put_seq_f32_(to, end, x); } };
template <> struct field<double> { enum { type = PANTRACE_T_F64, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, double x) { return pt_put_f64_(to, end, x); } };
template <> struct field<pt_seq_f64_> { enum { type = PANTRACE_T_SEQUENCE | PANTRACE_T_F64, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pt_seq_f64_ x) { return pt_put_seq_f64_(to, end, x); } };
template <> struct field<bool> { enum { type = PANTRACE_T_BOOL, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, bool x) { return pt_put_bool_(to, end, x); } };
template <> struct field<pantrace_text_> { enum { type = PANTRACE_T_TEXT, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, pantrace_text_ x) { return pt_put_text_(to, end, x); } };
template <> struct field<const char *> { enum { type = PANTRACE_T_STRING, varies = 1 }; static unsigned char *put(unsigned char *to, unsigned char *end, const char *x) { return pantrace_put_string(to, end, x); } };
template <> struct field<char *> : field<const char *> {};
template <> struct field<std::nullptr_t> { enum { type = PANTRACE_T_PTR, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, const volatile void *x) { return pt_put_ptr_(to, end, x); } };
template <class T> struct field<T *> { enum { type = PANTRACE_T_PTR, varies = 0 }; static unsigned char *put(unsigned char *to, unsigned char *end, T *x) { return pt_put_ptr_(to, end, (const volatile void *)x); } };
template <class T> struct field<T, typename std::enable_if<std::is_enum<T>::value>::type> : field<typename std::underlying_type<T>::type> {
	static unsigned char *put(unsigned char *to, unsigned char *end, T x) { return field<typename std::underlying_type<T>::type>::put(to, end, static_cast<typename std::underlying_type<T>::type>(x)); }
};
/* std::string, std::string_view and what resembles them: data() and size() of bytes */
template <class T> struct field<T, typename std::enable_if<std::is_convertible<decltype(std::declval<const T &>().data()), const char *>::value>::type> {
	enum { type = PANTRACE_T_TEXT, varies = 1 };
	static unsigned char *put(unsigned char *to, unsigned char *end, const T &x) { return pantrace_put_text(to, end, x.data(), x.size()); }
};
template <class T> using field_of = field<typename std::decay<T>::type>;
template <class T> inline unsigned char *put(unsigned char *to, unsigned char *end, const T &x) { return field_of<const T>::put(to, end, x); }
template <unsigned char... T> struct types {
	enum { size = sizeof...(T) };
	static constexpr unsigned char value[sizeof...(T)] = { T... };
};
template <unsigned char... T> constexpr unsigned char types<T...>::value[sizeof...(T)];
template <class Tag> struct __attribute__((visibility("hidden"))) holder {
	static pantrace_event event;
};
template <class... T> constexpr size_t count(T...) { return sizeof...(T); }
template <class Tag, class Index> struct enum_list;
template <class Tag, size_t... I> struct __attribute__((visibility("hidden"))) enum_list<Tag, std::index_sequence<I...>> {
	static const pantrace_enum *const list[sizeof...(I)];
};
template <class Tag, size_t... I>
const pantrace_enum *const enum_list<Tag, std::index_sequence<I...>>::list[sizeof...(I)] = { Tag::get_enum(I)... };
template <class Tag>
pantrace_event holder<Tag>::event = { Tag::get(0), Tag::get(1), Tag::get(2), Tag::types::value, enum_list<Tag, std::make_index_sequence<Tag::nr_enums>>::list, Tag::level, 0, 0, 0, nullptr, nullptr };
template <class E> struct sequence;
template <> struct sequence<char> { static pt_seq_i8_ make(const void *p, size_t n) { return pt_seq_i8_{ p, n }; } };
template <> struct sequence<signed char> { static pt_seq_i8_ make(const void *p, size_t n) { return pt_seq_i8_{ p, n }; } };
template <> struct sequence<unsigned char> { static pt_seq_u8_ make(const void *p, size_t n) { return pt_seq_u8_{ p, n }; } };
template <> struct sequence<short> { static pt_seq_i16_ make(const void *p, size_t n) { return pt_seq_i16_{ p, n }; } };
template <> struct sequence<unsigned short> { static pt_seq_u16_ make(const void *p, size_t n) { return pt_seq_u16_{ p, n }; } };
template <> struct sequence<int> { static pt_seq_i32_ make(const void *p, size_t n) { return pt_seq_i32_{ p, n }; } };
template <> struct sequence<unsigned int> { static pt_seq_u32_ make(const void *p, size_t n) { return pt_seq_u32_{ p, n }; } };
template <> struct sequence<long> { static pt_seq_i64_ make(const void *p, size_t n) { return pt_seq_i64_{ p, n }; } };
template <> struct sequence<long long> { static pt_seq_i64_ make(const void *p, size_t n) { return pt_seq_i64_{ p, n }; } };
template <> struct sequence<unsigned long> { static pt_seq_u64_ make(const void *p, size_t n) { return pt_seq_u64_{ p, n }; } };
template <> struct sequence<unsigned long long> { static pt_seq_u64_ make(const void *p, size_t n) { return pt_seq_u64_{ p, n }; } };
template <> struct sequence<float> { static pt_seq_f32_ make(const void *p, size_t n) { return pt_seq_f32_{ p, n }; } };
template <> struct sequence<double> { static pt_seq_f64_ make(const void *p, size_t n) { return pt_seq_f64_{ p, n }; } };
} /* namespace pantrace */
}
#define PT_STRN(s, n)  pt_make_text_((s), (size_t)(n))
#define PT_SEQ(p, n)   (pantrace::sequence<typename std::remove_cv<typename std::remove_reference<decltype(*(p))>::type>::type>::make((p), (size_t)(n)))
#define PT_LENGTH_(a)  (sizeof(a) / sizeof((a)[0]) * sizeof(char[std::is_pointer<typename std::decay<decltype((a))>::type>::value && !std::is_array<typename std::remove_reference<decltype((a))>::type>::value ? -1 : 1]))
#define PT_TYPE_(x)    (unsigned char)pantrace::field_of<decltype((x))>::type
#define PT_VARIES_(x)  pantrace::field_of<decltype((x))>::varies
#define PT_PUT_(x)     pt_to_ = pantrace::put(pt_to_, pt_end_, (x));
#endif

/* ---- for each of up to 16 arguments, in three copies: a macro does not expand within itself ---- */

#define PT_PASTE_(a, b)	 a##b
#define PT_PASTE2_(a, b) PT_PASTE_(a, b)
#define PT_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, n, ...) n
#define PT_COUNT_(...)	 PT_PICK_(__VA_ARGS__, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/* PLAIN for an expression, SPECIAL for what begins with (): no C or C++ expression does. */
#define PT_SECOND_(a, b, ...)  b
#define PT_SECOND2_(...)       PT_SECOND_(__VA_ARGS__)
#define PT_CHOOSE_(a, b, ...)  b
#define PT_CHOOSE2_(...)       PT_CHOOSE_(__VA_ARGS__)
#define PT_EMPTY_YES_()	       ~, SPECIAL_,
#define PT_EMPTY_NO_()	       ~
#define PT_ASK_EMPTY_(...)     PT_CHOOSE2_(~ __VA_OPT__(, PT_EMPTY_NO_), PT_EMPTY_YES_, ~)()
#define PT_KIND_(x)	       PT_SECOND2_(PT_ASK_EMPTY_ x, PLAIN_, ~)
#define PT_STRIP_()
#define PT_OPEN_(...)	       __VA_ARGS__

#define PT_DISPATCH1_(m, kind, x)	PT_PASTE2_(PT_DISPATCH1_, kind)(m, x)
#define PT_DISPATCH1_PLAIN_(m, x)	m##PLAIN_(x)
#define PT_DISPATCH1_SPECIAL_(m, x)	PT_SPECIAL1_(m, PT_STRIP_ x)
#define PT_SPECIAL1_(m, tuple)	PT_SPECIAL1B_(m, PT_OPEN_ tuple)
#define PT_SPECIAL1B_(m, ...)		PT_SPECIAL1C_(m, __VA_ARGS__)
#define PT_SPECIAL1C_(m, kind, ...)	m##kind(__VA_ARGS__)

#define PT_DISPATCH2_(m, kind, x)	PT_PASTE2_(PT_DISPATCH2_, kind)(m, x)
#define PT_DISPATCH2_PLAIN_(m, x)	m##PLAIN_(x)
#define PT_DISPATCH2_SPECIAL_(m, x)	PT_SPECIAL2_(m, PT_STRIP_ x)
#define PT_SPECIAL2_(m, tuple)	PT_SPECIAL2B_(m, PT_OPEN_ tuple)
#define PT_SPECIAL2B_(m, ...)		PT_SPECIAL2C_(m, __VA_ARGS__)
#define PT_SPECIAL2C_(m, kind, ...)	m##kind(__VA_ARGS__)

#define PT_DISPATCH3_(m, kind, x)	PT_PASTE2_(PT_DISPATCH3_, kind)(m, x)
#define PT_DISPATCH3_PLAIN_(m, x)	m##PLAIN_(x)
#define PT_DISPATCH3_SPECIAL_(m, x)	PT_SPECIAL3_(m, PT_STRIP_ x)
#define PT_SPECIAL3_(m, tuple)	PT_SPECIAL3B_(m, PT_OPEN_ tuple)
#define PT_SPECIAL3B_(m, ...)		PT_SPECIAL3C_(m, __VA_ARGS__)
#define PT_SPECIAL3C_(m, kind, ...)	m##kind(__VA_ARGS__)
#define PT_EACH_1(m, x)	 m(x)
#define PT_EACH_2(m, x, ...) m(x) PT_EACH_1(m, __VA_ARGS__)
#define PT_EACH_3(m, x, ...) m(x) PT_EACH_2(m, __VA_ARGS__)
#define PT_EACH_4(m, x, ...) m(x) PT_EACH_3(m, __VA_ARGS__)
#define PT_EACH_5(m, x, ...) m(x) PT_EACH_4(m, __VA_ARGS__)
#define PT_EACH_6(m, x, ...) m(x) PT_EACH_5(m, __VA_ARGS__)
#define PT_EACH_7(m, x, ...) m(x) PT_EACH_6(m, __VA_ARGS__)
#define PT_EACH_8(m, x, ...) m(x) PT_EACH_7(m, __VA_ARGS__)
#define PT_EACH_9(m, x, ...) m(x) PT_EACH_8(m, __VA_ARGS__)
#define PT_EACH_10(m, x, ...) m(x) PT_EACH_9(m, __VA_ARGS__)
#define PT_EACH_11(m, x, ...) m(x) PT_EACH_10(m, __VA_ARGS__)
#define PT_EACH_12(m, x, ...) m(x) PT_EACH_11(m, __VA_ARGS__)
#define PT_EACH_13(m, x, ...) m(x) PT_EACH_12(m, __VA_ARGS__)
#define PT_EACH_14(m, x, ...) m(x) PT_EACH_13(m, __VA_ARGS__)
#define PT_EACH_15(m, x, ...) m(x) PT_EACH_14(m, __VA_ARGS__)
#define PT_EACH_16(m, x, ...) m(x) PT_EACH_15(m, __VA_ARGS__)
#define PT_EACH_(m, ...) __VA_OPT__(PT_PASTE2_(PT_EACH_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

#define PT_EACH2_1(m, x)	 m(x)
#define PT_EACH2_2(m, x, ...) m(x) PT_EACH2_1(m, __VA_ARGS__)
#define PT_EACH2_3(m, x, ...) m(x) PT_EACH2_2(m, __VA_ARGS__)
#define PT_EACH2_4(m, x, ...) m(x) PT_EACH2_3(m, __VA_ARGS__)
#define PT_EACH2_5(m, x, ...) m(x) PT_EACH2_4(m, __VA_ARGS__)
#define PT_EACH2_6(m, x, ...) m(x) PT_EACH2_5(m, __VA_ARGS__)
#define PT_EACH2_7(m, x, ...) m(x) PT_EACH2_6(m, __VA_ARGS__)
#define PT_EACH2_8(m, x, ...) m(x) PT_EACH2_7(m, __VA_ARGS__)
#define PT_EACH2_9(m, x, ...) m(x) PT_EACH2_8(m, __VA_ARGS__)
#define PT_EACH2_10(m, x, ...) m(x) PT_EACH2_9(m, __VA_ARGS__)
#define PT_EACH2_11(m, x, ...) m(x) PT_EACH2_10(m, __VA_ARGS__)
#define PT_EACH2_12(m, x, ...) m(x) PT_EACH2_11(m, __VA_ARGS__)
#define PT_EACH2_13(m, x, ...) m(x) PT_EACH2_12(m, __VA_ARGS__)
#define PT_EACH2_14(m, x, ...) m(x) PT_EACH2_13(m, __VA_ARGS__)
#define PT_EACH2_15(m, x, ...) m(x) PT_EACH2_14(m, __VA_ARGS__)
#define PT_EACH2_16(m, x, ...) m(x) PT_EACH2_15(m, __VA_ARGS__)
#define PT_EACH2_(m, ...) __VA_OPT__(PT_PASTE2_(PT_EACH2_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

#define PT_EACH3_1(m, x)	 m(x)
#define PT_EACH3_2(m, x, ...) m(x) PT_EACH3_1(m, __VA_ARGS__)
#define PT_EACH3_3(m, x, ...) m(x) PT_EACH3_2(m, __VA_ARGS__)
#define PT_EACH3_4(m, x, ...) m(x) PT_EACH3_3(m, __VA_ARGS__)
#define PT_EACH3_5(m, x, ...) m(x) PT_EACH3_4(m, __VA_ARGS__)
#define PT_EACH3_6(m, x, ...) m(x) PT_EACH3_5(m, __VA_ARGS__)
#define PT_EACH3_7(m, x, ...) m(x) PT_EACH3_6(m, __VA_ARGS__)
#define PT_EACH3_8(m, x, ...) m(x) PT_EACH3_7(m, __VA_ARGS__)
#define PT_EACH3_9(m, x, ...) m(x) PT_EACH3_8(m, __VA_ARGS__)
#define PT_EACH3_10(m, x, ...) m(x) PT_EACH3_9(m, __VA_ARGS__)
#define PT_EACH3_11(m, x, ...) m(x) PT_EACH3_10(m, __VA_ARGS__)
#define PT_EACH3_12(m, x, ...) m(x) PT_EACH3_11(m, __VA_ARGS__)
#define PT_EACH3_13(m, x, ...) m(x) PT_EACH3_12(m, __VA_ARGS__)
#define PT_EACH3_14(m, x, ...) m(x) PT_EACH3_13(m, __VA_ARGS__)
#define PT_EACH3_15(m, x, ...) m(x) PT_EACH3_14(m, __VA_ARGS__)
#define PT_EACH3_16(m, x, ...) m(x) PT_EACH3_15(m, __VA_ARGS__)
#define PT_EACH3_(m, ...) __VA_OPT__(PT_PASTE2_(PT_EACH3_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

#define PT_ENUM_EACH_1(m, x)	 m(x)
#define PT_ENUM_EACH_2(m, x, ...) m(x) PT_ENUM_EACH_1(m, __VA_ARGS__)
#define PT_ENUM_EACH_3(m, x, ...) m(x) PT_ENUM_EACH_2(m, __VA_ARGS__)
#define PT_ENUM_EACH_4(m, x, ...) m(x) PT_ENUM_EACH_3(m, __VA_ARGS__)
#define PT_ENUM_EACH_5(m, x, ...) m(x) PT_ENUM_EACH_4(m, __VA_ARGS__)
#define PT_ENUM_EACH_6(m, x, ...) m(x) PT_ENUM_EACH_5(m, __VA_ARGS__)
#define PT_ENUM_EACH_7(m, x, ...) m(x) PT_ENUM_EACH_6(m, __VA_ARGS__)
#define PT_ENUM_EACH_8(m, x, ...) m(x) PT_ENUM_EACH_7(m, __VA_ARGS__)
#define PT_ENUM_EACH_9(m, x, ...) m(x) PT_ENUM_EACH_8(m, __VA_ARGS__)
#define PT_ENUM_EACH_10(m, x, ...) m(x) PT_ENUM_EACH_9(m, __VA_ARGS__)
#define PT_ENUM_EACH_11(m, x, ...) m(x) PT_ENUM_EACH_10(m, __VA_ARGS__)
#define PT_ENUM_EACH_12(m, x, ...) m(x) PT_ENUM_EACH_11(m, __VA_ARGS__)
#define PT_ENUM_EACH_13(m, x, ...) m(x) PT_ENUM_EACH_12(m, __VA_ARGS__)
#define PT_ENUM_EACH_14(m, x, ...) m(x) PT_ENUM_EACH_13(m, __VA_ARGS__)
#define PT_ENUM_EACH_15(m, x, ...) m(x) PT_ENUM_EACH_14(m, __VA_ARGS__)
#define PT_ENUM_EACH_16(m, x, ...) m(x) PT_ENUM_EACH_15(m, __VA_ARGS__)
#define PT_ENUM_EACH_17(m, x, ...) m(x) PT_ENUM_EACH_16(m, __VA_ARGS__)
#define PT_ENUM_EACH_18(m, x, ...) m(x) PT_ENUM_EACH_17(m, __VA_ARGS__)
#define PT_ENUM_EACH_19(m, x, ...) m(x) PT_ENUM_EACH_18(m, __VA_ARGS__)
#define PT_ENUM_EACH_20(m, x, ...) m(x) PT_ENUM_EACH_19(m, __VA_ARGS__)
#define PT_ENUM_EACH_21(m, x, ...) m(x) PT_ENUM_EACH_20(m, __VA_ARGS__)
#define PT_ENUM_EACH_22(m, x, ...) m(x) PT_ENUM_EACH_21(m, __VA_ARGS__)
#define PT_ENUM_EACH_23(m, x, ...) m(x) PT_ENUM_EACH_22(m, __VA_ARGS__)
#define PT_ENUM_EACH_24(m, x, ...) m(x) PT_ENUM_EACH_23(m, __VA_ARGS__)
#define PT_ENUM_EACH_25(m, x, ...) m(x) PT_ENUM_EACH_24(m, __VA_ARGS__)
#define PT_ENUM_EACH_26(m, x, ...) m(x) PT_ENUM_EACH_25(m, __VA_ARGS__)
#define PT_ENUM_EACH_27(m, x, ...) m(x) PT_ENUM_EACH_26(m, __VA_ARGS__)
#define PT_ENUM_EACH_28(m, x, ...) m(x) PT_ENUM_EACH_27(m, __VA_ARGS__)
#define PT_ENUM_EACH_29(m, x, ...) m(x) PT_ENUM_EACH_28(m, __VA_ARGS__)
#define PT_ENUM_EACH_30(m, x, ...) m(x) PT_ENUM_EACH_29(m, __VA_ARGS__)
#define PT_ENUM_EACH_31(m, x, ...) m(x) PT_ENUM_EACH_30(m, __VA_ARGS__)
#define PT_ENUM_EACH_32(m, x, ...) m(x) PT_ENUM_EACH_31(m, __VA_ARGS__)
#define PT_ENUM_EACH_33(m, x, ...) m(x) PT_ENUM_EACH_32(m, __VA_ARGS__)
#define PT_ENUM_EACH_34(m, x, ...) m(x) PT_ENUM_EACH_33(m, __VA_ARGS__)
#define PT_ENUM_EACH_35(m, x, ...) m(x) PT_ENUM_EACH_34(m, __VA_ARGS__)
#define PT_ENUM_EACH_36(m, x, ...) m(x) PT_ENUM_EACH_35(m, __VA_ARGS__)
#define PT_ENUM_EACH_37(m, x, ...) m(x) PT_ENUM_EACH_36(m, __VA_ARGS__)
#define PT_ENUM_EACH_38(m, x, ...) m(x) PT_ENUM_EACH_37(m, __VA_ARGS__)
#define PT_ENUM_EACH_39(m, x, ...) m(x) PT_ENUM_EACH_38(m, __VA_ARGS__)
#define PT_ENUM_EACH_40(m, x, ...) m(x) PT_ENUM_EACH_39(m, __VA_ARGS__)
#define PT_ENUM_EACH_41(m, x, ...) m(x) PT_ENUM_EACH_40(m, __VA_ARGS__)
#define PT_ENUM_EACH_42(m, x, ...) m(x) PT_ENUM_EACH_41(m, __VA_ARGS__)
#define PT_ENUM_EACH_43(m, x, ...) m(x) PT_ENUM_EACH_42(m, __VA_ARGS__)
#define PT_ENUM_EACH_44(m, x, ...) m(x) PT_ENUM_EACH_43(m, __VA_ARGS__)
#define PT_ENUM_EACH_45(m, x, ...) m(x) PT_ENUM_EACH_44(m, __VA_ARGS__)
#define PT_ENUM_EACH_46(m, x, ...) m(x) PT_ENUM_EACH_45(m, __VA_ARGS__)
#define PT_ENUM_EACH_47(m, x, ...) m(x) PT_ENUM_EACH_46(m, __VA_ARGS__)
#define PT_ENUM_EACH_48(m, x, ...) m(x) PT_ENUM_EACH_47(m, __VA_ARGS__)
#define PT_ENUM_EACH_49(m, x, ...) m(x) PT_ENUM_EACH_48(m, __VA_ARGS__)
#define PT_ENUM_EACH_50(m, x, ...) m(x) PT_ENUM_EACH_49(m, __VA_ARGS__)
#define PT_ENUM_EACH_51(m, x, ...) m(x) PT_ENUM_EACH_50(m, __VA_ARGS__)
#define PT_ENUM_EACH_52(m, x, ...) m(x) PT_ENUM_EACH_51(m, __VA_ARGS__)
#define PT_ENUM_EACH_53(m, x, ...) m(x) PT_ENUM_EACH_52(m, __VA_ARGS__)
#define PT_ENUM_EACH_54(m, x, ...) m(x) PT_ENUM_EACH_53(m, __VA_ARGS__)
#define PT_ENUM_EACH_55(m, x, ...) m(x) PT_ENUM_EACH_54(m, __VA_ARGS__)
#define PT_ENUM_EACH_56(m, x, ...) m(x) PT_ENUM_EACH_55(m, __VA_ARGS__)
#define PT_ENUM_EACH_57(m, x, ...) m(x) PT_ENUM_EACH_56(m, __VA_ARGS__)
#define PT_ENUM_EACH_58(m, x, ...) m(x) PT_ENUM_EACH_57(m, __VA_ARGS__)
#define PT_ENUM_EACH_59(m, x, ...) m(x) PT_ENUM_EACH_58(m, __VA_ARGS__)
#define PT_ENUM_EACH_60(m, x, ...) m(x) PT_ENUM_EACH_59(m, __VA_ARGS__)
#define PT_ENUM_EACH_61(m, x, ...) m(x) PT_ENUM_EACH_60(m, __VA_ARGS__)
#define PT_ENUM_EACH_62(m, x, ...) m(x) PT_ENUM_EACH_61(m, __VA_ARGS__)
#define PT_ENUM_EACH_63(m, x, ...) m(x) PT_ENUM_EACH_62(m, __VA_ARGS__)
#define PT_ENUM_EACH_64(m, x, ...) m(x) PT_ENUM_EACH_63(m, __VA_ARGS__)
#define PT_ENUM_EACH_(m, ...) __VA_OPT__(PT_PASTE2_(PT_ENUM_EACH_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

/*
 * What is asked of each field: bytes of its type; its enum; the bytes that it takes at most, without
 * those of varying length; whether it has those; to store it.
 */
#define PT_TYPE1_(x) PT_DISPATCH1_(PT_TYPE1_, PT_KIND_(x), x)
#define PT_ENUMS1_(x) PT_DISPATCH1_(PT_ENUMS1_, PT_KIND_(x), x)
#define PT_FIXED1_(x) PT_DISPATCH1_(PT_FIXED1_, PT_KIND_(x), x)
#define PT_VARY1_(x) PT_DISPATCH1_(PT_VARY1_, PT_KIND_(x), x)
#define PT_STORE1_(x) PT_DISPATCH1_(PT_STORE1_, PT_KIND_(x), x)
#define PT_TYPE1_PLAIN_(x)	 (unsigned char)PT_TYPE_(x),
#define PT_ENUMS1_PLAIN_(x)
#define PT_FIXED1_PLAIN_(x)	 +8
#define PT_VARY1_PLAIN_(x)	 +PT_VARIES_(x)
#define PT_STORE1_PLAIN_(x)	 PT_PUT_(x)
#define PT_TYPE1_ENUM_(e, x)	 (unsigned char)(PANTRACE_T_ENUM | PT_TYPE_(x)),
#define PT_ENUMS1_ENUM_(e, x)	 &e,
#define PT_FIXED1_ENUM_(e, x)	 +8
#define PT_VARY1_ENUM_(e, x)
#define PT_STORE1_ENUM_(e, x)	 PT_PUT_(x)
#define PT_TYPE1_ARRAY_(a)	 (unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0])), (unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS1_ARRAY_(a)
#define PT_FIXED1_ARRAY_(a)	 +sizeof(a) + 0 * sizeof(char[PT_LENGTH_(a) < 65536 ? 1 : -1])
#define PT_VARY1_ARRAY_(a)
#define PT_STORE1_ARRAY_(a)	 __builtin_memcpy(pt_to_, &(a)[0], sizeof(a)), pt_to_ += sizeof(a);
#define PT_TYPE1_STRUCT_(...)	 PANTRACE_T_STRUCT, PT_EACH2_(PT_TYPE2_, __VA_ARGS__) PANTRACE_T_STRUCT_END,
#define PT_ENUMS1_STRUCT_(...) PT_EACH2_(PT_ENUMS2_, __VA_ARGS__)
#define PT_FIXED1_STRUCT_(...) PT_EACH2_(PT_FIXED2_, __VA_ARGS__)
#define PT_VARY1_STRUCT_(...)  PT_EACH2_(PT_VARY2_, __VA_ARGS__)
#define PT_STORE1_STRUCT_(...) PT_EACH2_(PT_STORE2_, __VA_ARGS__)

#define PT_TYPE2_(x) PT_DISPATCH2_(PT_TYPE2_, PT_KIND_(x), x)
#define PT_ENUMS2_(x) PT_DISPATCH2_(PT_ENUMS2_, PT_KIND_(x), x)
#define PT_FIXED2_(x) PT_DISPATCH2_(PT_FIXED2_, PT_KIND_(x), x)
#define PT_VARY2_(x) PT_DISPATCH2_(PT_VARY2_, PT_KIND_(x), x)
#define PT_STORE2_(x) PT_DISPATCH2_(PT_STORE2_, PT_KIND_(x), x)
#define PT_TYPE2_PLAIN_(x)	 (unsigned char)PT_TYPE_(x),
#define PT_ENUMS2_PLAIN_(x)
#define PT_FIXED2_PLAIN_(x)	 +8
#define PT_VARY2_PLAIN_(x)	 +PT_VARIES_(x)
#define PT_STORE2_PLAIN_(x)	 PT_PUT_(x)
#define PT_TYPE2_ENUM_(e, x)	 (unsigned char)(PANTRACE_T_ENUM | PT_TYPE_(x)),
#define PT_ENUMS2_ENUM_(e, x)	 &e,
#define PT_FIXED2_ENUM_(e, x)	 +8
#define PT_VARY2_ENUM_(e, x)
#define PT_STORE2_ENUM_(e, x)	 PT_PUT_(x)
#define PT_TYPE2_ARRAY_(a)	 (unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0])), (unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS2_ARRAY_(a)
#define PT_FIXED2_ARRAY_(a)	 +sizeof(a) + 0 * sizeof(char[PT_LENGTH_(a) < 65536 ? 1 : -1])
#define PT_VARY2_ARRAY_(a)
#define PT_STORE2_ARRAY_(a)	 __builtin_memcpy(pt_to_, &(a)[0], sizeof(a)), pt_to_ += sizeof(a);
#define PT_TYPE2_STRUCT_(...)	 PANTRACE_T_STRUCT, PT_EACH3_(PT_TYPE3_, __VA_ARGS__) PANTRACE_T_STRUCT_END,
#define PT_ENUMS2_STRUCT_(...) PT_EACH3_(PT_ENUMS3_, __VA_ARGS__)
#define PT_FIXED2_STRUCT_(...) PT_EACH3_(PT_FIXED3_, __VA_ARGS__)
#define PT_VARY2_STRUCT_(...)  PT_EACH3_(PT_VARY3_, __VA_ARGS__)
#define PT_STORE2_STRUCT_(...) PT_EACH3_(PT_STORE3_, __VA_ARGS__)

#define PT_TYPE3_(x) PT_DISPATCH3_(PT_TYPE3_, PT_KIND_(x), x)
#define PT_ENUMS3_(x) PT_DISPATCH3_(PT_ENUMS3_, PT_KIND_(x), x)
#define PT_FIXED3_(x) PT_DISPATCH3_(PT_FIXED3_, PT_KIND_(x), x)
#define PT_VARY3_(x) PT_DISPATCH3_(PT_VARY3_, PT_KIND_(x), x)
#define PT_STORE3_(x) PT_DISPATCH3_(PT_STORE3_, PT_KIND_(x), x)
#define PT_TYPE3_PLAIN_(x)	 (unsigned char)PT_TYPE_(x),
#define PT_ENUMS3_PLAIN_(x)
#define PT_FIXED3_PLAIN_(x)	 +8
#define PT_VARY3_PLAIN_(x)	 +PT_VARIES_(x)
#define PT_STORE3_PLAIN_(x)	 PT_PUT_(x)
#define PT_TYPE3_ENUM_(e, x)	 (unsigned char)(PANTRACE_T_ENUM | PT_TYPE_(x)),
#define PT_ENUMS3_ENUM_(e, x)	 &e,
#define PT_FIXED3_ENUM_(e, x)	 +8
#define PT_VARY3_ENUM_(e, x)
#define PT_STORE3_ENUM_(e, x)	 PT_PUT_(x)
#define PT_TYPE3_ARRAY_(a)	 (unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0])), (unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS3_ARRAY_(a)
#define PT_FIXED3_ARRAY_(a)	 +sizeof(a) + 0 * sizeof(char[PT_LENGTH_(a) < 65536 ? 1 : -1])
#define PT_VARY3_ARRAY_(a)
#define PT_STORE3_ARRAY_(a)	 __builtin_memcpy(pt_to_, &(a)[0], sizeof(a)), pt_to_ += sizeof(a);

/* ---- the site ---- */

/*
 * Operand 0 is the event. The .reloc ties the table's entry to the code, so that --gc-sections keeps or
 * drops them together; "?" puts entry and note into the section group (COMDAT) of the code.
 */
#define PT_SITE_(event, on, provider, name, args, ...)                                                        \
	__asm__ goto("990:	nop\n"                                                             \
		     "991:	.byte 0xa9\n"                                                      \
		     "	.long %l[" #on "] - 992f\n"                                                \
		     "992:\n"                                                                      \
		     "	.reloc 991b, R_X86_64_NONE, 993f\n"                                        \
		     "	.pushsection pantrace_table,\"a?\",@progbits\n"                            \
		     "	.balign 4\n"                                                               \
		     "993:	.long 991b - .\n"                                                  \
		     "	.long %c0 - .\n"                                                           \
		     "	.popsection\n"                                                             \
		     "	.pushsection .note.stapsdt,\"?\",\"note\"\n"                               \
		     "	.balign 4\n"                                                               \
		     "	.4byte 995f - 994f, 997f - 996f, 3\n"                                      \
		     "994:	.asciz \"stapsdt\"\n"                                              \
		     "995:	.balign 4\n"                                                       \
		     "996:	.8byte 990b\n"                                                     \
		     "	.8byte _.stapsdt.base\n"                                                   \
		     "	.8byte 0\n"                                                                \
		     "	.asciz \"" provider "\"\n"                                                 \
		     "	.asciz \"" name "\"\n"                                                     \
		     "	.asciz \"" args "\"\n"                                                     \
		     "997:	.balign 4\n"                                                       \
		     "	.popsection\n"                                                             \
		     "	.ifndef _.stapsdt.base\n"                                                  \
		     "	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"     \
		     "	.weak _.stapsdt.base\n"                                                    \
		     "	.hidden _.stapsdt.base\n"                                                  \
		     "_.stapsdt.base:	.space 1\n"                                               \
		     "	.size _.stapsdt.base, 1\n"                                                 \
		     "	.popsection\n"                                                             \
		     "	.endif\n"                                                                  \
		     :                                                                             \
		     : "i"(&event)__VA_ARGS__                                                      \
		     : "cc"                                                                        \
		     : on)

#ifdef __clang__
#define PT_COLD_ __attribute__((unused))
#else
#define PT_COLD_ __attribute__((cold, unused))
#endif

/*
 * In C++, statics of inline functions and templates are weak and may come from another object, so
 * that a site cannot name them. Members of a hidden template are this object's own; a local type
 * makes them one a macro.
 */
#ifdef __cplusplus
#define PT_EVENT_(provider, event_name, text, event_level, event_enums, ...)                       \
	typedef pantrace::types<__VA_ARGS__> pt_types_;                                            \
	struct pt_tag_ {                                                                           \
		typedef pt_types_ types;                                                           \
		enum : size_t {                                                                    \
			level = (event_level),                                                     \
			nr_enums = pantrace::count(PT_OPEN_ event_enums nullptr),                  \
		};                                                                                 \
		static constexpr const char *get(int what)                                         \
		{                                                                                  \
			return what == 0 ? provider : what == 1 ? event_name : text;               \
		}                                                                                  \
		static constexpr const pantrace_enum *get_enum(size_t i)                           \
		{                                                                                  \
			const pantrace_enum *const list[] = { PT_OPEN_ event_enums nullptr };      \
			return list[i];                                                            \
		}                                                                                  \
	}
#define PT_EVENT_OF_ pantrace::holder<pt_tag_>::event
#else
#define PT_EVENT_(provider, event_name, text, level, event_enums, ...)                             \
	static const unsigned char pt_types_[] = { __VA_ARGS__ };                                  \
	static const struct pantrace_enum *const pt_enums_[] = { PT_OPEN_ event_enums 0 };         \
	static struct pantrace_event pt_event_ = {                                                 \
		provider, event_name, text, pt_types_, pt_enums_, level, 0, 0, 0, 0, 0                \
	}
#define PT_EVENT_OF_  pt_event_
#endif

/*
 * Opens the block that runs while the event is on. clang before 17 checks each asm goto of a C++
 * function against the labels of all others and finds initialisations between them; a lambda that
 * is inlined keeps them apart and compiles to the same jump.
 */
#if defined(__cplusplus) && defined(__clang__)
#define PT_IF_ON_(event, on, provider, name, args, ...)                                                     \
	if (__builtin_expect(                                                                      \
		    [&]() __attribute__((always_inline)) {                                          \
			    __label__ on;                                                          \
			    PT_SITE_(event, on, provider, name, args, __VA_ARGS__);                                   \
			    return false;                                                          \
on:                                                                                                \
			    return true;                                                           \
		    }(),                                                                           \
		    0))
#define PT_ON_(on)
#define PT_LABEL_(on)
#else
#define PT_LABEL_(on) __label__ on;
#define PT_IF_ON_(event, on, provider, name, args, ...)                                                     \
	PT_SITE_(event, on, provider, name, args, __VA_ARGS__);                                                       \
	if (0)
#define PT_ON_(on)                                                                                 \
on:                                                                                                \
	PT_COLD_;
#endif

#define PANTRACE(provider, name, ...)                                                              \
	PT_TRACE_(PANTRACE_DEBUG_LINE, #provider, #name, "" #__VA_ARGS__, "", , __VA_ARGS__)
#define PANTRACE_AT(level, provider, name, ...)                                                    \
	PT_TRACE_(level, #provider, #name, "" #__VA_ARGS__, "", , __VA_ARGS__)
#define PANTRACE_USDT(provider, name, ...)                                                         \
	PT_TRACE_(PANTRACE_DEBUG_LINE, #provider, #name, "" #__VA_ARGS__, PT_NOTE_(__VA_ARGS__),   \
		  PT_INPUTS_(__VA_ARGS__), __VA_ARGS__)

#define PT_TRACE_(level, provider, name, text, note, inputs, ...)                                  \
	do {                                                                                       \
		PT_LABEL_(pt_on_)                                                                  \
		PT_EVENT_(provider, name, text, level, (PT_EACH_(PT_ENUMS1_, __VA_ARGS__)),        \
			  PT_EACH_(PT_TYPE1_, __VA_ARGS__) PANTRACE_T_END);                        \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, provider, name, note, inputs)                      \
		{                                                                                  \
			enum {                                                                     \
				pt_fixed_ = 0 PT_EACH_(PT_FIXED1_, __VA_ARGS__),                   \
				pt_varying_ = 0 PT_EACH_(PT_VARY1_, __VA_ARGS__),                  \
				pt_room_ = 24 + pt_fixed_ + PANTRACE_STRING_MAX * pt_varying_,     \
			};                                                                         \
			PT_ON_(pt_on_)                                                             \
			__attribute__((aligned(8))) unsigned char pt_record_[pt_room_];            \
			unsigned char *pt_to_ = pt_record_ + 12;                                   \
			unsigned char *const pt_end_ = pt_record_ + pt_room_ - pt_fixed_ - 8;      \
			(void)pt_end_;                                                             \
			PT_EACH_(PT_STORE1_, __VA_ARGS__)                                          \
			pantrace_emit(&PT_EVENT_OF_, pt_record_, (size_t)(pt_to_ - pt_record_));   \
		}                                                                                  \
	} while (0)

#define PANTRACE_LOG(...) PANTRACE_LOG_AT(PANTRACE_INFO, __VA_ARGS__)
#define PANTRACE_LOG_AT(level, ...)                                                                \
	do {                                                                                       \
		PT_LABEL_(pt_on_)                                                                  \
		PT_EVENT_("log", "message", "message", level, (), PANTRACE_T_STRING, PANTRACE_T_END); \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, "log", "message", "", )                            \
		{                                                                                  \
			PT_ON_(pt_on_)                                                             \
			__attribute__((aligned(8))) unsigned char pt_record_[24 + PANTRACE_STRING_MAX]; \
			unsigned char *const pt_to_ =                                              \
				pantrace_put_format(pt_record_ + 12, pt_record_ + 16 + PANTRACE_STRING_MAX, \
						    __VA_ARGS__);                                  \
			pantrace_emit(&PT_EVENT_OF_, pt_record_, (size_t)(pt_to_ - pt_record_));   \
		}                                                                                  \
	} while (0)

/* Whether events of this name are on: for arguments that take work of several statements. */
#define PANTRACE_ENABLED(provider, name)                                                           \
	__extension__({                                                                            \
		PT_LABEL_(pt_on_)                                                                  \
		PT_EVENT_(#provider, #name, 0, 0, (), PANTRACE_T_GATE, PANTRACE_T_END);            \
		int pt_enabled_;                                                                   \
		pt_enabled_ = 0; /* apart: clang lets no jump cross an initialisation in C++ */    \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, #provider, #name, "", )                            \
		{                                                                                  \
			PT_ON_(pt_on_)                                                             \
			pt_enabled_ = 1;                                                           \
		}                                                                                  \
		pt_enabled_;                                                                       \
	})

/* ---- arguments in USDT notes: "SIZE@PLACE", the size negative where signed ---- */

#ifdef __cplusplus
#define PT_SIZE_(x)                                                                                \
	((std::is_signed<typename std::decay<decltype((x))>::type>::value ? 1 : -1) *              \
	 (int)sizeof(typename std::decay<decltype((x))>::type))
#else
/* clang-format off */
#define PT_SIGN_(x) _Generic((x), char: 1, signed char: 1, short: 1, int: 1, long: 1, long long: 1, default: -1)
/* clang-format on */
#define PT_SIZE_(x) (PT_SIGN_(x) * (int)sizeof(__typeof__(((void)0, (x)))))
#endif
#define PT_NOTE_(...) __VA_OPT__(PT_PASTE2_(PT_NOTE, PT_COUNT_(__VA_ARGS__)))
#define PT_INPUTS_(...) __VA_OPT__(PT_PASTE2_(PT_INPUT, PT_COUNT_(__VA_ARGS__))(__VA_ARGS__))
#define PT_NOTE1 "%n[pt_s1]@%[pt_a1]"
#define PT_NOTE2 PT_NOTE1 " %n[pt_s2]@%[pt_a2]"
#define PT_NOTE3 PT_NOTE2 " %n[pt_s3]@%[pt_a3]"
#define PT_NOTE4 PT_NOTE3 " %n[pt_s4]@%[pt_a4]"
#define PT_NOTE5 PT_NOTE4 " %n[pt_s5]@%[pt_a5]"
#define PT_NOTE6 PT_NOTE5 " %n[pt_s6]@%[pt_a6]"
#define PT_NOTE7 PT_NOTE6 " %n[pt_s7]@%[pt_a7]"
#define PT_NOTE8 PT_NOTE7 " %n[pt_s8]@%[pt_a8]"
#define PT_NOTE9 PT_NOTE8 " %n[pt_s9]@%[pt_a9]"
#define PT_NOTE10 PT_NOTE9 " %n[pt_s10]@%[pt_a10]"
#define PT_NOTE11 PT_NOTE10 " %n[pt_s11]@%[pt_a11]"
#define PT_NOTE12 PT_NOTE11 " %n[pt_s12]@%[pt_a12]"
#define PT_INPUT_(n, x) , [pt_s##n] "n"(PT_SIZE_(x)), [pt_a##n] "nor"(x)
#define PT_INPUT1(x1) PT_INPUT_(1, x1)
#define PT_INPUT2(x1, x2) PT_INPUT1(x1) PT_INPUT_(2, x2)
#define PT_INPUT3(x1, x2, x3) PT_INPUT2(x1, x2) PT_INPUT_(3, x3)
#define PT_INPUT4(x1, x2, x3, x4) PT_INPUT3(x1, x2, x3) PT_INPUT_(4, x4)
#define PT_INPUT5(x1, x2, x3, x4, x5) PT_INPUT4(x1, x2, x3, x4) PT_INPUT_(5, x5)
#define PT_INPUT6(x1, x2, x3, x4, x5, x6) PT_INPUT5(x1, x2, x3, x4, x5) PT_INPUT_(6, x6)
#define PT_INPUT7(x1, x2, x3, x4, x5, x6, x7) PT_INPUT6(x1, x2, x3, x4, x5, x6) PT_INPUT_(7, x7)
#define PT_INPUT8(x1, x2, x3, x4, x5, x6, x7, x8) PT_INPUT7(x1, x2, x3, x4, x5, x6, x7) PT_INPUT_(8, x8)
#define PT_INPUT9(x1, x2, x3, x4, x5, x6, x7, x8, x9) PT_INPUT8(x1, x2, x3, x4, x5, x6, x7, x8) PT_INPUT_(9, x9)
#define PT_INPUT10(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10) PT_INPUT9(x1, x2, x3, x4, x5, x6, x7, x8, x9) PT_INPUT_(10, x10)
#define PT_INPUT11(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11) PT_INPUT10(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10) PT_INPUT_(11, x11)
#define PT_INPUT12(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12) PT_INPUT11(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11) PT_INPUT_(12, x12)

#endif
