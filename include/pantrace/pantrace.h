/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint is one line:
 *
 *	PANTRACE(provider, name, id, request->url, latency);
 *
 * PROVIDER and NAME are identifiers. Fields (at most 16) take their names from the text of the
 * arguments and their types from the arguments: integers, bool, float and double, pointers, C
 * strings; PT_STRN(s, n) is a string of at most n bytes, PT_SEQ(p, n) an array of n numbers,
 * PT_NAMED(name, x) a field with a name of its own. Arguments are evaluated only while the event is
 * on, and then once each. A string longer than PANTRACE_STRING_MAX - 1 bytes may be cut.
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
	uint32_t id;		    /* in this process; the library's */
	uint32_t sessions;	    /* bits: the sessions that want it; the library's */
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

#define PT_NAMED(name, x) (x)

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
template <class Tag>
pantrace_event holder<Tag>::event = { Tag::get(0), Tag::get(1), Tag::get(2), Tag::types::value, 0, 0 };
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
#define PT_TYPE_(x)    (unsigned char)pantrace::field_of<decltype((x))>::type
#define PT_VARIES_(x)  pantrace::field_of<decltype((x))>::varies
#define PT_PUT_(x)     pt_to_ = pantrace::put(pt_to_, pt_end_, (x));
#endif

/* ---- for each of up to 16 arguments ---- */

#define PT_PASTE_(a, b)	 a##b
#define PT_PASTE2_(a, b) PT_PASTE_(a, b)
#define PT_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, n, ...) n
#define PT_COUNT_(...)	 PT_PICK_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PT_EACH_0(m)
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
#define PT_TYPE_ITEM_(x)   PT_TYPE_(x),
#define PT_VARIES_TERM_(x) +PT_VARIES_(x)

/* ---- the site ---- */

/*
 * Operand 0 is the event. The .reloc ties the table's entry to the code, so that --gc-sections keeps or
 * drops them together; "?" puts entry and note into the section group (COMDAT) of the code.
 */
#define PT_SITE_(event, on, provider, name)                                                        \
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
		     "	.asciz \"\"\n"                                                             \
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
		     : "i"(&event)                                                                 \
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
#define PT_EVENT_(provider, event_name, text, ...)                                                 \
	typedef pantrace::types<__VA_ARGS__> pt_types_;                                            \
	struct pt_tag_ {                                                                           \
		typedef pt_types_ types;                                                           \
		static constexpr const char *get(int what)                                         \
		{                                                                                  \
			return what == 0 ? provider : what == 1 ? event_name : text;               \
		}                                                                                  \
	}
#define PT_EVENT_OF_ pantrace::holder<pt_tag_>::event
#define PT_NR_FIELDS_ (pt_types_::size - 1)
#else
#define PT_EVENT_(provider, event_name, text, ...)                                                 \
	static const unsigned char pt_types_[] = { __VA_ARGS__ };                                  \
	static struct pantrace_event pt_event_ = { provider, event_name, text, pt_types_, 0, 0 }
#define PT_EVENT_OF_  pt_event_
#define PT_NR_FIELDS_ (sizeof(pt_types_) - 1)
#endif

/*
 * Opens the block that runs while the event is on. clang before 17 checks each asm goto of a C++
 * function against the labels of all others and finds initialisations between them; a lambda that
 * is inlined keeps them apart and compiles to the same jump.
 */
#if defined(__cplusplus) && defined(__clang__)
#define PT_IF_ON_(event, on, provider, name)                                                       \
	if (__builtin_expect(                                                                      \
		    []() __attribute__((always_inline)) {                                          \
			    __label__ on;                                                          \
			    PT_SITE_(event, on, provider, name);                                   \
			    return false;                                                          \
on:                                                                                                \
			    return true;                                                           \
		    }(),                                                                           \
		    0))
#define PT_ON_(on)
#define PT_LABEL_(on)
#else
#define PT_LABEL_(on) __label__ on;
#define PT_IF_ON_(event, on, provider, name)                                                       \
	PT_SITE_(event, on, provider, name);                                                       \
	if (0)
#define PT_ON_(on)                                                                                 \
on:                                                                                                \
	PT_COLD_;
#endif

#define PANTRACE(provider, name, ...)                                                              \
	do {                                                                                       \
		PT_LABEL_(pt_on_)                                                                  \
		PT_EVENT_(#provider, #name, "" #__VA_ARGS__,                                       \
			  PT_EACH_(PT_TYPE_ITEM_, __VA_ARGS__) PANTRACE_T_END);                    \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, #provider, #name)                                      \
		{                                                                                  \
			enum {                                                                     \
				pt_fields_ = PT_NR_FIELDS_,                                        \
				pt_varying_ = 0 PT_EACH_(PT_VARIES_TERM_, __VA_ARGS__),            \
				pt_room_ = 16 + 8 * pt_fields_ +                                   \
					   PANTRACE_STRING_MAX * pt_varying_,                      \
			};                                                                         \
			PT_ON_(pt_on_)                                                             \
			__attribute__((aligned(8))) unsigned char pt_record_[pt_room_];            \
			unsigned char *pt_to_ = pt_record_ + 12;                                   \
			unsigned char *const pt_end_ = pt_record_ + pt_room_ - 8 * pt_fields_ - 8; \
			(void)pt_end_;                                                             \
			PT_EACH_(PT_PUT_, __VA_ARGS__)                                             \
			pantrace_emit(&PT_EVENT_OF_, pt_record_, (size_t)(pt_to_ - pt_record_));      \
		}                                                                                  \
	} while (0)

/* Whether events of this name are on: for arguments that take work of several statements. */
#define PANTRACE_ENABLED(provider, name)                                                           \
	__extension__({                                                                            \
		PT_LABEL_(pt_on_)                                                                  \
		PT_EVENT_(#provider, #name, 0, PANTRACE_T_GATE);                                   \
		int pt_enabled_;                                                                   \
		pt_enabled_ = 0; /* apart: clang lets no jump cross an initialisation in C++ */    \
		PT_IF_ON_(PT_EVENT_OF_, pt_on_, #provider, #name)                                      \
		{                                                                                  \
			PT_ON_(pt_on_)                                                             \
			pt_enabled_ = 1;                                                           \
		}                                                                                  \
		pt_enabled_;                                                                       \
	})

#endif
