/* SPDX-License-Identifier: MIT */
/* Fields by the type of their expression: C++, by templates. Included by pantrace.h. */
#ifndef PANTRACE_DETAIL_FIELDS_CXX_H
#define PANTRACE_DETAIL_FIELDS_CXX_H
#pragma GCC system_header

#include <string>
#include <type_traits>
#include <utility>

extern "C++" {
namespace pantrace
{
template <class T, class = void> struct field;
/* A type: what it is in a record, whether its length varies, what stores it. */
#define PT_FIELD_(cxx, what, length_varies, store)                                      \
	template <> struct field<cxx> {                                                 \
		enum { type = what, varies = length_varies };                           \
		static unsigned char *put(unsigned char *to, unsigned char *end, cxx x) \
		{                                                                       \
			return store(to, end, x);                                       \
		}                                                                       \
	}
PT_FIELD_(char, PANTRACE_T_I8, 0, pt_put_i8_);
PT_FIELD_(signed char, PANTRACE_T_I8, 0, pt_put_i8_);
PT_FIELD_(pt_seq_i8_, PANTRACE_T_SEQUENCE | PANTRACE_T_I8, 1, pt_put_seq_i8_);
PT_FIELD_(unsigned char, PANTRACE_T_U8, 0, pt_put_u8_);
PT_FIELD_(pt_seq_u8_, PANTRACE_T_SEQUENCE | PANTRACE_T_U8, 1, pt_put_seq_u8_);
PT_FIELD_(short, PANTRACE_T_I16, 0, pt_put_i16_);
PT_FIELD_(pt_seq_i16_, PANTRACE_T_SEQUENCE | PANTRACE_T_I16, 1, pt_put_seq_i16_);
PT_FIELD_(unsigned short, PANTRACE_T_U16, 0, pt_put_u16_);
PT_FIELD_(pt_seq_u16_, PANTRACE_T_SEQUENCE | PANTRACE_T_U16, 1, pt_put_seq_u16_);
PT_FIELD_(int, PANTRACE_T_I32, 0, pt_put_i32_);
PT_FIELD_(pt_seq_i32_, PANTRACE_T_SEQUENCE | PANTRACE_T_I32, 1, pt_put_seq_i32_);
PT_FIELD_(unsigned int, PANTRACE_T_U32, 0, pt_put_u32_);
PT_FIELD_(pt_seq_u32_, PANTRACE_T_SEQUENCE | PANTRACE_T_U32, 1, pt_put_seq_u32_);
PT_FIELD_(long, PANTRACE_T_I64, 0, pt_put_i64_);
PT_FIELD_(long long, PANTRACE_T_I64, 0, pt_put_i64_);
PT_FIELD_(pt_seq_i64_, PANTRACE_T_SEQUENCE | PANTRACE_T_I64, 1, pt_put_seq_i64_);
PT_FIELD_(unsigned long, PANTRACE_T_U64, 0, pt_put_u64_);
PT_FIELD_(unsigned long long, PANTRACE_T_U64, 0, pt_put_u64_);
PT_FIELD_(pt_seq_u64_, PANTRACE_T_SEQUENCE | PANTRACE_T_U64, 1, pt_put_seq_u64_);
PT_FIELD_(float, PANTRACE_T_F32, 0, pt_put_f32_);
PT_FIELD_(pt_seq_f32_, PANTRACE_T_SEQUENCE | PANTRACE_T_F32, 1, pt_put_seq_f32_);
PT_FIELD_(double, PANTRACE_T_F64, 0, pt_put_f64_);
PT_FIELD_(pt_seq_f64_, PANTRACE_T_SEQUENCE | PANTRACE_T_F64, 1, pt_put_seq_f64_);
PT_FIELD_(bool, PANTRACE_T_BOOL, 0, pt_put_bool_);
PT_FIELD_(pantrace_text_, PANTRACE_T_TEXT, 1, pt_put_text_);
template <> struct field<const char *> {
	enum { type = PANTRACE_T_STRING, varies = 1 };
	static unsigned char *put(unsigned char *to, unsigned char *end, const char *x)
	{
		return pantrace_put_string(to, end, x);
	}
};
template <> struct field<char *> : field<const char *> {
};
template <> struct field<std::nullptr_t> {
	enum { type = PANTRACE_T_PTR, varies = 0 };
	static unsigned char *put(unsigned char *to, unsigned char *end, const volatile void *x)
	{
		return pt_put_ptr_(to, end, x);
	}
};
template <class T> struct field<T *> {
	enum { type = PANTRACE_T_PTR, varies = 0 };
	static unsigned char *put(unsigned char *to, unsigned char *end, T *x)
	{
		return pt_put_ptr_(to, end, (const volatile void *)x);
	}
};
template <class T>
struct field<T, typename std::enable_if<std::is_enum<T>::value>::type>
    : field<typename std::underlying_type<T>::type> {
	typedef typename std::underlying_type<T>::type number;
	static unsigned char *put(unsigned char *to, unsigned char *end, T x)
	{
		return field<number>::put(to, end, static_cast<number>(x));
	}
};
/* std::string, std::string_view and what resembles them: data() and size() of bytes */
template <class T>
struct field<T, typename std::enable_if<std::is_convertible<
			decltype(std::declval<const T &>().data()), const char *>::value>::type> {
	enum { type = PANTRACE_T_TEXT, varies = 1 };
	static unsigned char *put(unsigned char *to, unsigned char *end, const T &x)
	{
		return pantrace_put_text(to, end, x.data(), x.size());
	}
};
template <class T> using field_of = field<typename std::decay<T>::type>;
template <class T> inline unsigned char *put(unsigned char *to, unsigned char *end, const T &x)
{
	return field_of<const T>::put(to, end, x);
}
template <unsigned char... T> struct types {
	enum { size = sizeof...(T) };
	static constexpr unsigned char value[sizeof...(T)] = {T...};
};
template <unsigned char... T> constexpr unsigned char types<T...>::value[sizeof...(T)];
template <class Tag> struct __attribute__((visibility("hidden"))) holder {
	static pantrace_event event;
};
template <class... T> constexpr size_t count(T...)
{
	return sizeof...(T);
}
template <class Tag, class Index> struct enum_list;
template <class Tag, size_t... I>
struct __attribute__((visibility("hidden"))) enum_list<Tag, std::index_sequence<I...>> {
	static const pantrace_enum *const list[sizeof...(I)];
};
template <class Tag, size_t... I>
const pantrace_enum *const enum_list<Tag, std::index_sequence<I...>>::list[sizeof...(I)] = {
	Tag::get_enum(I)...};
template <class Tag>
pantrace_event holder<Tag>::event = {Tag::get(0),
				     Tag::get(1),
				     Tag::get(2),
				     Tag::types::value,
				     enum_list<Tag, std::make_index_sequence<Tag::nr_enums>>::list,
				     Tag::level,
				     0,
				     0,
				     0,
				     nullptr,
				     nullptr};
template <class E> struct sequence;
#define PT_ELEMENT_(cxx, of)                            \
	template <> struct sequence<cxx> {              \
		static of make(const void *p, size_t n) \
		{                                       \
			return of{p, n};                \
		}                                       \
	}
PT_ELEMENT_(char, pt_seq_i8_);
PT_ELEMENT_(signed char, pt_seq_i8_);
PT_ELEMENT_(unsigned char, pt_seq_u8_);
PT_ELEMENT_(short, pt_seq_i16_);
PT_ELEMENT_(unsigned short, pt_seq_u16_);
PT_ELEMENT_(int, pt_seq_i32_);
PT_ELEMENT_(unsigned int, pt_seq_u32_);
PT_ELEMENT_(long, pt_seq_i64_);
PT_ELEMENT_(long long, pt_seq_i64_);
PT_ELEMENT_(unsigned long, pt_seq_u64_);
PT_ELEMENT_(unsigned long long, pt_seq_u64_);
PT_ELEMENT_(float, pt_seq_f32_);
PT_ELEMENT_(double, pt_seq_f64_);
#undef PT_FIELD_
#undef PT_ELEMENT_
} /* namespace pantrace */
}
#define PT_STRN(s, n) pt_make_text_((s), (size_t)(n))
#define PT_SEQ(p, n)                                                                     \
	(pantrace::sequence<typename std::remove_cv<                                     \
		 typename std::remove_reference<decltype(*(p))>::type>::type>::make((p), \
										    (size_t)(n)))
#define PT_LENGTH_(a)                                                                         \
	(sizeof(a) / sizeof((a)[0]) *                                                         \
	 sizeof(char[std::is_pointer<typename std::decay<decltype((a))>::type>::value &&      \
				     !std::is_array<typename std::remove_reference<decltype(( \
					     a))>::type>::value                               \
			     ? -1                                                             \
			     : 1]))
#define PT_TYPE_(x)   (unsigned char)pantrace::field_of<decltype((x))>::type
#define PT_VARIES_(x) pantrace::field_of<decltype((x))>::varies
#define PT_PUT_(x)    pt_to_ = pantrace::put(pt_to_, pt_end_, (x));

#endif
