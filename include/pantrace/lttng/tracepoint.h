/* SPDX-License-Identifier: MIT */
/*
 * For programs that are instrumented with LTTng-UST: with -I PREFIX/include/pantrace their provider
 * headers compile unchanged, and their tracepoints are pantrace's. TRACEPOINT_EVENT, _EVENT_CLASS,
 * _EVENT_INSTANCE, _ENUM, _LOGLEVEL and tracepoint() are known in both spellings (ctf_integer and
 * lttng_ust_field_integer ...). TRACEPOINT_DEFINE, TRACEPOINT_CREATE_PROBES and
 * TRACEPOINT_PROBE_DYNAMIC_LINKAGE change nothing: there are no providers to be built or loaded.
 *
 * What is not taken: `_nowrite` fields (which LTTng keeps for filters only; here they are left
 * out), more than 10 arguments. The lists of TP_FIELDS() become lists of (kind, type, name,
 * source...), once.
 */
#ifndef PANTRACE_LTTNG_TRACEPOINT_H
#define PANTRACE_LTTNG_TRACEPOINT_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <pantrace/pantrace.h>

#define PTL_EACH_	 PT_ENUM_EACH_
#define PTL_PASTE_(a, b) PT_PASTE2_(a, b)

/* ---- TP_ARGS(type, name, ...) ---- */

#define TP_ARGS(...)	  (__VA_ARGS__)
#define LTTNG_UST_TP_ARGS TP_ARGS
#define PTL_DECLARE_0_()
#define PTL_DECLARE_2_(t, n)	   , t n
#define PTL_DECLARE_4_(t, n, ...)  , t n PTL_DECLARE_2_(__VA_ARGS__)
#define PTL_DECLARE_6_(t, n, ...)  , t n PTL_DECLARE_4_(__VA_ARGS__)
#define PTL_DECLARE_8_(t, n, ...)  , t n PTL_DECLARE_6_(__VA_ARGS__)
#define PTL_DECLARE_10_(t, n, ...) , t n PTL_DECLARE_8_(__VA_ARGS__)
#define PTL_DECLARE_12_(t, n, ...) , t n PTL_DECLARE_10_(__VA_ARGS__)
#define PTL_DECLARE_14_(t, n, ...) , t n PTL_DECLARE_12_(__VA_ARGS__)
#define PTL_DECLARE_16_(t, n, ...) , t n PTL_DECLARE_14_(__VA_ARGS__)
#define PTL_DECLARE_18_(t, n, ...) , t n PTL_DECLARE_16_(__VA_ARGS__)
#define PTL_DECLARE_20_(t, n, ...) , t n PTL_DECLARE_18_(__VA_ARGS__)
/* TP_ARGS(void) says that there are none, as TP_ARGS() does */
#define PTL_DECLARE_1_(t)
#define PTL_DECLARE_(...) \
	__VA_OPT__(PTL_PASTE_(PTL_PASTE_(PTL_DECLARE_, PT_COUNT_(__VA_ARGS__)), _)(__VA_ARGS__))

/* ---- TP_FIELDS() ---- */

#define TP_FIELDS(...)	    __VA_ARGS__
#define LTTNG_UST_TP_FIELDS TP_FIELDS

#define lttng_ust_field_integer(t, n, e)	     , (PLAIN, t, n, (t)(e))
#define lttng_ust_field_integer_hex(t, n, e)	     , (HEX, t, n, (t)(e))
#define lttng_ust_field_integer_network(t, n, e)     , (PLAIN, t, n, PTL_SWAP_(t, e))
#define lttng_ust_field_integer_network_hex(t, n, e) , (HEX, t, n, PTL_SWAP_(t, e))
#define lttng_ust_field_float(t, n, e)		     , (PLAIN, t, n, (t)(e))
#define lttng_ust_field_string(n, e)		     , (TEXT, char, n, (const char *)(e))
#define lttng_ust_field_unused(e)
#define lttng_ust_field_array(t, n, e, len)		   , (ARRAY, t, n, e, len)
#define lttng_ust_field_array_hex(t, n, e, len)		   , (HEX_ARRAY, t, n, e, len)
#define lttng_ust_field_array_network(t, n, e, len)	   , (NETWORK_ARRAY, t, n, e, len)
#define lttng_ust_field_array_network_hex(t, n, e, len)	   , (HEX_NETWORK_ARRAY, t, n, e, len)
#define lttng_ust_field_array_text(t, n, e, len)	   , (BYTES, t, n, e, len)
#define lttng_ust_field_sequence(t, n, e, lt, len)	   , (SEQUENCE, t, n, e, len)
#define lttng_ust_field_sequence_hex(t, n, e, lt, len)	   , (HEX_SEQUENCE, t, n, e, len)
#define lttng_ust_field_sequence_network(t, n, e, lt, len) , (NETWORK_SEQUENCE, t, n, e, len)
#define lttng_ust_field_sequence_network_hex(t, n, e, lt, len) \
	, (HEX_NETWORK_SEQUENCE, t, n, e, len)
#define lttng_ust_field_sequence_text(t, n, e, lt, len) , (BYTES, t, n, e, len)
#define lttng_ust_field_enum(provider, name, t, n, e) \
	, (ENUM, t, n, e, PTL_ENUM_NAME_(provider, name))
#define lttng_ust_field_integer_nowrite(...)
#define lttng_ust_field_float_nowrite(...)
#define lttng_ust_field_string_nowrite(...)
#define lttng_ust_field_array_nowrite(...)
#define lttng_ust_field_array_nowrite_hex(...)
#define lttng_ust_field_array_text_nowrite(...)
#define lttng_ust_field_sequence_nowrite(...)
#define lttng_ust_field_sequence_nowrite_hex(...)
#define lttng_ust_field_sequence_text_nowrite(...)
#define lttng_ust_field_enum_nowrite(...)
#define lttng_ust_field_unused_nowrite(...)

#define ctf_integer		  lttng_ust_field_integer
#define ctf_integer_hex		  lttng_ust_field_integer_hex
#define ctf_integer_network	  lttng_ust_field_integer_network
#define ctf_integer_network_hex	  lttng_ust_field_integer_network_hex
#define ctf_float		  lttng_ust_field_float
#define ctf_string		  lttng_ust_field_string
#define ctf_unused		  lttng_ust_field_unused
#define ctf_array		  lttng_ust_field_array
#define ctf_array_hex		  lttng_ust_field_array_hex
#define ctf_array_network	  lttng_ust_field_array_network
#define ctf_array_network_hex	  lttng_ust_field_array_network_hex
#define ctf_array_text		  lttng_ust_field_array_text
#define ctf_sequence		  lttng_ust_field_sequence
#define ctf_sequence_hex	  lttng_ust_field_sequence_hex
#define ctf_sequence_network	  lttng_ust_field_sequence_network
#define ctf_sequence_network_hex  lttng_ust_field_sequence_network_hex
#define ctf_sequence_text	  lttng_ust_field_sequence_text
#define ctf_enum		  lttng_ust_field_enum
#define ctf_integer_nowrite	  lttng_ust_field_integer_nowrite
#define ctf_float_nowrite	  lttng_ust_field_float_nowrite
#define ctf_string_nowrite	  lttng_ust_field_string_nowrite
#define ctf_array_nowrite	  lttng_ust_field_array_nowrite
#define ctf_array_text_nowrite	  lttng_ust_field_array_text_nowrite
#define ctf_sequence_nowrite	  lttng_ust_field_sequence_nowrite
#define ctf_sequence_text_nowrite lttng_ust_field_sequence_text_nowrite
#define ctf_enum_nowrite	  lttng_ust_field_enum_nowrite
#define ctf_unused_nowrite	  lttng_ust_field_unused_nowrite

/* Big-endian as it came from a network, as a number of this machine. */
#define PTL_SWAP_(t, e)                                          \
	((t)(sizeof(t) == 2   ? __builtin_bswap16((uint16_t)(e)) \
	     : sizeof(t) == 4 ? __builtin_bswap32((uint32_t)(e)) \
	     : sizeof(t) == 8 ? __builtin_bswap64((uint64_t)(e)) \
			      : (uint64_t)(e)))

/* The same of the elements behind AT that were stored last. */
#define PTL_SWAP_EACH_(t, at)                                                      \
	for (unsigned char *pt_at_ = (at); pt_at_ < pt_to_; pt_at_ += sizeof(t)) { \
		t pt_element_;                                                     \
		__builtin_memcpy(&pt_element_, pt_at_, sizeof(t));                 \
		pt_element_ = PTL_SWAP_(t, pt_element_);                           \
		__builtin_memcpy(pt_at_, &pt_element_, sizeof(t));                 \
	}

/*
 * What is asked of each field, as in pantrace.h: its name, the bytes of its type, its enum, its
 * value.
 */
#define PTL_ASK_(what, kind, ...)    what##kind##_(__VA_ARGS__)
#define PTL_NAME_1_(kind, t, n, ...) #n ", "
#define PTL_NAME_(field)	     PTL_NAME_1_ field

#define PTL_TYPE_(field)		    PTL_TYPE_1_ field
#define PTL_TYPE_1_(kind, ...)		    PTL_ASK_(PTL_TYPE_OF_, kind, __VA_ARGS__)
#define PTL_TYPE_OF_PLAIN_(t, n, e)	    (unsigned char)PT_TYPE_((t)0),
#define PTL_TYPE_OF_HEX_(t, n, e)	    PT_HEX_TYPE_((int)PT_TYPE_((t)0)),
#define PTL_TYPE_OF_TEXT_(t, n, e)	    PANTRACE_T_STRING,
#define PTL_TYPE_OF_BYTES_(t, n, e, len)    PANTRACE_T_TEXT,
#define PTL_TYPE_OF_NETWORK_SEQUENCE_	    PTL_TYPE_OF_SEQUENCE_
#define PTL_TYPE_OF_SEQUENCE_(t, n, e, len) (unsigned char)(PANTRACE_T_SEQUENCE | PT_TYPE_((t)0)),
#define PTL_TYPE_OF_HEX_SEQUENCE_(t, n, e, len) \
	PT_HEX_TYPE_((int)(PANTRACE_T_SEQUENCE | PT_TYPE_((t)0))),
#define PTL_TYPE_OF_HEX_NETWORK_SEQUENCE_ PTL_TYPE_OF_HEX_SEQUENCE_
#define PTL_TYPE_OF_NETWORK_ARRAY_	  PTL_TYPE_OF_ARRAY_
#define PTL_TYPE_OF_ARRAY_(t, n, e, len)                                                \
	(unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((t)0)), (unsigned char)((len)&255), \
		(unsigned char)((len) >> 8),
#define PTL_TYPE_OF_HEX_ARRAY_(t, n, e, len)                                                \
	PT_HEX_TYPE_((int)(PANTRACE_T_ARRAY | PT_TYPE_((t)0))), (unsigned char)((len)&255), \
		(unsigned char)((len) >> 8),
#define PTL_TYPE_OF_HEX_NETWORK_ARRAY_	  PTL_TYPE_OF_HEX_ARRAY_
#define PTL_TYPE_OF_ENUM_(t, n, e, names) (unsigned char)(PANTRACE_T_ENUM | PT_TYPE_((t)0)),

#define PTL_NAMES_(field)	PTL_NAMES_1_ field
#define PTL_NAMES_1_(kind, ...) PTL_ASK_(PTL_NAMES_OF_, kind, __VA_ARGS__)
#define PTL_NAMES_OF_PLAIN_(...)
#define PTL_NAMES_OF_TEXT_(...)
#define PTL_NAMES_OF_BYTES_(...)
#define PTL_NAMES_OF_NETWORK_SEQUENCE_ PTL_NAMES_OF_SEQUENCE_
#define PTL_NAMES_OF_SEQUENCE_(...)
#define PTL_NAMES_OF_NETWORK_ARRAY_ PTL_NAMES_OF_ARRAY_
#define PTL_NAMES_OF_ARRAY_(...)
#define PTL_NAMES_OF_ENUM_(t, n, e, names) &names,
#define PTL_NAMES_OF_HEX_		   PTL_NAMES_OF_PLAIN_
#define PTL_NAMES_OF_HEX_SEQUENCE_	   PTL_NAMES_OF_SEQUENCE_
#define PTL_NAMES_OF_HEX_ARRAY_		   PTL_NAMES_OF_ARRAY_
#define PTL_NAMES_OF_HEX_NETWORK_SEQUENCE_ PTL_NAMES_OF_NETWORK_SEQUENCE_
#define PTL_NAMES_OF_HEX_NETWORK_ARRAY_	   PTL_NAMES_OF_NETWORK_ARRAY_

#define PTL_ROOM_(field)	    PTL_ROOM_1_ field
#define PTL_ROOM_1_(kind, ...)	    PTL_ASK_(PTL_ROOM_OF_, kind, __VA_ARGS__)
#define PTL_ROOM_OF_PLAIN_(t, n, e) +8
#define PTL_ROOM_OF_TEXT_(t, n, e)
#define PTL_ROOM_OF_BYTES_(t, n, e, len)
#define PTL_ROOM_OF_NETWORK_SEQUENCE_ PTL_ROOM_OF_SEQUENCE_
#define PTL_ROOM_OF_SEQUENCE_(t, n, e, len)
#define PTL_ROOM_OF_NETWORK_ARRAY_	  PTL_ROOM_OF_ARRAY_
#define PTL_ROOM_OF_ARRAY_(t, n, e, len)  +sizeof(t) * (len)
#define PTL_ROOM_OF_ENUM_(t, n, e, names) +8
#define PTL_ROOM_OF_HEX_		  PTL_ROOM_OF_PLAIN_
#define PTL_ROOM_OF_HEX_SEQUENCE_	  PTL_ROOM_OF_SEQUENCE_
#define PTL_ROOM_OF_HEX_ARRAY_		  PTL_ROOM_OF_ARRAY_
#define PTL_ROOM_OF_HEX_NETWORK_SEQUENCE_ PTL_ROOM_OF_NETWORK_SEQUENCE_
#define PTL_ROOM_OF_HEX_NETWORK_ARRAY_	  PTL_ROOM_OF_NETWORK_ARRAY_

#define PTL_VARY_(field)       PTL_VARY_1_ field
#define PTL_VARY_1_(kind, ...) PTL_ASK_(PTL_VARY_OF_, kind, __VA_ARGS__)
#define PTL_VARY_OF_PLAIN_(...)
#define PTL_VARY_OF_TEXT_(...)	      +1
#define PTL_VARY_OF_BYTES_(...)	      +1
#define PTL_VARY_OF_NETWORK_SEQUENCE_ PTL_VARY_OF_SEQUENCE_
#define PTL_VARY_OF_SEQUENCE_(...)    +1
#define PTL_VARY_OF_NETWORK_ARRAY_    PTL_VARY_OF_ARRAY_
#define PTL_VARY_OF_ARRAY_(...)
#define PTL_VARY_OF_ENUM_(...)
#define PTL_VARY_OF_HEX_		  PTL_VARY_OF_PLAIN_
#define PTL_VARY_OF_HEX_SEQUENCE_	  PTL_VARY_OF_SEQUENCE_
#define PTL_VARY_OF_HEX_ARRAY_		  PTL_VARY_OF_ARRAY_
#define PTL_VARY_OF_HEX_NETWORK_SEQUENCE_ PTL_VARY_OF_NETWORK_SEQUENCE_
#define PTL_VARY_OF_HEX_NETWORK_ARRAY_	  PTL_VARY_OF_NETWORK_ARRAY_

#define PTL_STORE_(field)		     PTL_STORE_1_ field
#define PTL_STORE_1_(kind, ...)		     PTL_ASK_(PTL_STORE_OF_, kind, __VA_ARGS__)
#define PTL_STORE_OF_PLAIN_(t, n, e)	     PT_PUT_(e)
#define PTL_STORE_OF_TEXT_(t, n, e)	     PT_PUT_(e)
#define PTL_STORE_OF_BYTES_(t, n, e, len)    PT_PUT_(PT_STRN((const char *)(e), len))
#define PTL_STORE_OF_SEQUENCE_(t, n, e, len) PT_PUT_(PT_SEQ((const t *)(e), len))
#define PTL_STORE_OF_ARRAY_(t, n, e, len) \
	__builtin_memcpy(pt_to_, (e), sizeof(t) * (len)), pt_to_ += sizeof(t) * (len);
#define PTL_STORE_OF_NETWORK_SEQUENCE_(t, n, e, len)        \
	{                                                   \
		unsigned char *const pt_from_ = pt_to_ + 2; \
		PTL_STORE_OF_SEQUENCE_(t, n, e, len)        \
		PTL_SWAP_EACH_(t, pt_from_)                 \
	}
#define PTL_STORE_OF_NETWORK_ARRAY_(t, n, e, len) \
	PTL_STORE_OF_ARRAY_(t, n, e, len)         \
	PTL_SWAP_EACH_(t, pt_to_ - sizeof(t) * (len))
#define PTL_STORE_OF_ENUM_(t, n, e, names) PT_PUT_((t)(e))
#define PTL_STORE_OF_HEX_		   PTL_STORE_OF_PLAIN_
#define PTL_STORE_OF_HEX_SEQUENCE_	   PTL_STORE_OF_SEQUENCE_
#define PTL_STORE_OF_HEX_ARRAY_		   PTL_STORE_OF_ARRAY_
#define PTL_STORE_OF_HEX_NETWORK_SEQUENCE_ PTL_STORE_OF_NETWORK_SEQUENCE_
#define PTL_STORE_OF_HEX_NETWORK_ARRAY_	   PTL_STORE_OF_NETWORK_ARRAY_

/* ---- enumerations ---- */

/*
 * Runs before the sites are known to the library (priority 101), hence the priority that gcc warns
 * of.
 */
#ifdef __clang__
#define PTL_EARLY_
#define PTL_EARLY_END_
#else
#define PTL_EARLY_ \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wprio-ctor-dtor\"")
#define PTL_EARLY_END_ _Pragma("GCC diagnostic pop")
#endif

#define PTL_ENUM_NAME_(provider, name)		pt_enum_##provider##___##name##_
#define TP_ENUM_VALUES(...)			__VA_ARGS__
#define LTTNG_UST_TP_ENUM_VALUES		TP_ENUM_VALUES
#define lttng_ust_field_enum_value(text, value) {text, (long long)(value)},
#define lttng_ust_field_enum_range(text, first, last) \
	{text, (long long)(first)}, {0, (long long)(last)},
#define lttng_ust_field_enum_auto(text) {text, PTL_AUTO_},
#define ctf_enum_value			lttng_ust_field_enum_value
#define ctf_enum_range			lttng_ust_field_enum_range
#define ctf_enum_auto			lttng_ust_field_enum_auto
/* In place of one more than the value before: no initializer knows that one. */
#define PTL_AUTO_ (-0x7fffffffffffa5a5ll)
#define TRACEPOINT_ENUM(provider, name, values)                                                 \
	static struct pantrace_enum_value pt_values_##provider##___##name##_[]                  \
		__attribute__((unused)) = {values};                                             \
	static const struct pantrace_enum PTL_ENUM_NAME_(provider, name)                        \
		__attribute__((unused)) = {sizeof(pt_values_##provider##___##name##_) /         \
						   sizeof(struct pantrace_enum_value),          \
					   pt_values_##provider##___##name##_};                 \
	PTL_EARLY_ __attribute__((constructor(100),                                             \
				  unused)) static void pt_count_##provider##___##name##_(void)  \
	{                                                                                       \
		struct pantrace_enum_value *const pt_all_ = pt_values_##provider##___##name##_; \
		for (uint32_t i = 0; i < PTL_ENUM_NAME_(provider, name).n; i++)                 \
			if (pt_all_[i].value == PTL_AUTO_)                                      \
				pt_all_[i].value = i ? pt_all_[i - 1].value + 1 : 0;            \
	}                                                                                       \
	PTL_EARLY_END_
#define LTTNG_UST_TRACEPOINT_ENUM TRACEPOINT_ENUM

/* ---- events ---- */

/*
 * What the events of a class share: names and types of the fields, and the function that stores
 * them.
 */
#define PTL_CLASS_(provider, name, args, ...)                                                      \
	static const char ptl_text_##provider##___##name[] __attribute__((unused)) =               \
		"" PTL_EACH_(PTL_NAME_ __VA_OPT__(, ) __VA_ARGS__);                                \
	static const unsigned char ptl_types_##provider##___##name[] __attribute__((unused)) = {   \
		PTL_EACH_(PTL_TYPE_ __VA_OPT__(, ) __VA_ARGS__) PANTRACE_T_END};                   \
	static const struct pantrace_enum *const ptl_enums_##provider##___##name[]                 \
		__attribute__((unused)) = {PTL_EACH_(PTL_NAMES_ __VA_OPT__(, ) __VA_ARGS__) 0};    \
	static inline __attribute__((always_inline, unused)) void ptl_class_##provider##___##name( \
		const struct pantrace_event *pt_event_ PTL_DECLARE_ args)                          \
	{                                                                                          \
		enum {                                                                             \
			pt_fixed_ = 0 PTL_EACH_(PTL_ROOM_ __VA_OPT__(, ) __VA_ARGS__),             \
			pt_varying_ = 0 PTL_EACH_(PTL_VARY_ __VA_OPT__(, ) __VA_ARGS__),           \
			pt_room_ = 24 + pt_fixed_ + PANTRACE_STRING_MAX * pt_varying_,             \
		};                                                                                 \
		__attribute__((aligned(8))) unsigned char pt_record_[pt_room_];                    \
		unsigned char *pt_to_ = pt_record_ + 12;                                           \
		unsigned char *const pt_end_ = pt_record_ + pt_room_ - pt_fixed_ - 8;              \
		(void)pt_end_;                                                                     \
		PTL_EACH_(PTL_STORE_ __VA_OPT__(, ) __VA_ARGS__)                                   \
		pantrace_emit(pt_event_, pt_record_, (size_t)(pt_to_ - pt_record_));               \
	}

/* The fields come with a comma before each. */
#define PTL_CLASS_SKIP_(provider, name, args, skipped, ...) \
	PTL_CLASS_(provider, name, args __VA_OPT__(, ) __VA_ARGS__)

#define PTL_INSTANCE_(provider, class_, name)                                 \
	static struct pantrace_event ptl_event_##provider##___##name          \
		__attribute__((unused)) = {#provider,                         \
					   #name,                             \
					   ptl_text_##provider##___##class_,  \
					   ptl_types_##provider##___##class_, \
					   ptl_enums_##provider##___##class_, \
					   PANTRACE_DEBUG_LINE,               \
					   0,                                 \
					   0,                                 \
					   0,                                 \
					   0};

#define TRACEPOINT_EVENT_CLASS(provider, name, args, fields) \
	PTL_CLASS_SKIP_(provider, name, args, fields)
#define TRACEPOINT_EVENT_INSTANCE(provider, class_, name, args) \
	PTL_INSTANCE_(provider, class_, name)                   \
	PTL_EMIT_(provider, class_, name, args)
#define TRACEPOINT_EVENT(provider, name, args, fields)                         \
	TRACEPOINT_EVENT_CLASS(provider, name, args, PTL_OPEN_FIELDS_(fields)) \
	TRACEPOINT_EVENT_INSTANCE(provider, name, name, args)
#define PTL_OPEN_FIELDS_(...) __VA_ARGS__

#define PTL_PASS_0_()
#define PTL_PASS_1_(t)
#define PTL_PASS_2_(t, n)	, n
#define PTL_PASS_4_(t, n, ...)	, n PTL_PASS_2_(__VA_ARGS__)
#define PTL_PASS_6_(t, n, ...)	, n PTL_PASS_4_(__VA_ARGS__)
#define PTL_PASS_8_(t, n, ...)	, n PTL_PASS_6_(__VA_ARGS__)
#define PTL_PASS_10_(t, n, ...) , n PTL_PASS_8_(__VA_ARGS__)
#define PTL_PASS_12_(t, n, ...) , n PTL_PASS_10_(__VA_ARGS__)
#define PTL_PASS_14_(t, n, ...) , n PTL_PASS_12_(__VA_ARGS__)
#define PTL_PASS_16_(t, n, ...) , n PTL_PASS_14_(__VA_ARGS__)
#define PTL_PASS_18_(t, n, ...) , n PTL_PASS_16_(__VA_ARGS__)
#define PTL_PASS_20_(t, n, ...) , n PTL_PASS_18_(__VA_ARGS__)
#define PTL_PASS_(...) \
	__VA_OPT__(PTL_PASTE_(PTL_PASTE_(PTL_PASS_, PT_COUNT_(__VA_ARGS__)), _)(__VA_ARGS__))
/* The first argument is there so that the others may be none. */
#define PTL_EMIT_(provider, class_, name, args)                                                   \
	static inline __attribute__((always_inline, unused)) void ptl_emit_##provider##___##name( \
		int pt_first_ PTL_DECLARE_ args)                                                  \
	{                                                                                         \
		(void)pt_first_;                                                                  \
		ptl_class_##provider##___##class_(                                                \
			&ptl_event_##provider##___##name PTL_PASS_ args);                         \
	}

#define TRACEPOINT_LOGLEVEL(provider, name, loglevel)                                             \
	PTL_EARLY_ __attribute__((constructor(100))) static void ptl_level_##provider##___##name( \
		void)                                                                             \
	{                                                                                         \
		ptl_event_##provider##___##name.level = (loglevel);                               \
	}                                                                                         \
	PTL_EARLY_END_
#define TRACEPOINT_MODEL_EMF_URI(provider, name, uri)

#define tracepoint(provider, name, ...)                                                    \
	do {                                                                               \
		PT_LABEL_(pt_on_)                                                          \
		PT_IF_ON_(ptl_event_##provider##___##name, pt_on_, #provider, #name, "", ) \
		{                                                                          \
			PT_ON_(pt_on_)                                                     \
			ptl_emit_##provider##___##name(0 __VA_OPT__(, ) __VA_ARGS__);      \
		}                                                                          \
	} while (0)
#define do_tracepoint			   tracepoint
#define tracepoint_enabled(provider, name) PANTRACE_ENABLED(provider, name)

#define LTTNG_UST_TRACEPOINT_EVENT	    TRACEPOINT_EVENT
#define LTTNG_UST_TRACEPOINT_EVENT_CLASS    TRACEPOINT_EVENT_CLASS
#define LTTNG_UST_TRACEPOINT_EVENT_INSTANCE TRACEPOINT_EVENT_INSTANCE
#define LTTNG_UST_TRACEPOINT_LOGLEVEL	    TRACEPOINT_LOGLEVEL
#define LTTNG_UST_TRACEPOINT_MODEL_EMF_URI  TRACEPOINT_MODEL_EMF_URI
#define lttng_ust_tracepoint		    tracepoint
#define lttng_ust_do_tracepoint		    do_tracepoint
#define lttng_ust_tracepoint_enabled	    tracepoint_enabled

/* The levels have the same numbers: enum pantrace_level. */
#define TRACE_EMERG				     PANTRACE_EMERG
#define TRACE_ALERT				     PANTRACE_ALERT
#define TRACE_CRIT				     PANTRACE_CRIT
#define TRACE_ERR				     PANTRACE_ERR
#define TRACE_WARNING				     PANTRACE_WARNING
#define TRACE_NOTICE				     PANTRACE_NOTICE
#define TRACE_INFO				     PANTRACE_INFO
#define TRACE_DEBUG_SYSTEM			     PANTRACE_DEBUG_SYSTEM
#define TRACE_DEBUG_PROGRAM			     PANTRACE_DEBUG_PROGRAM
#define TRACE_DEBUG_PROCESS			     PANTRACE_DEBUG_PROCESS
#define TRACE_DEBUG_MODULE			     PANTRACE_DEBUG_MODULE
#define TRACE_DEBUG_UNIT			     PANTRACE_DEBUG_UNIT
#define TRACE_DEBUG_FUNCTION			     PANTRACE_DEBUG_FUNCTION
#define TRACE_DEBUG_LINE			     PANTRACE_DEBUG_LINE
#define TRACE_DEBUG				     PANTRACE_DEBUG
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG	     PANTRACE_EMERG
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_ALERT	     PANTRACE_ALERT
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_CRIT	     PANTRACE_CRIT
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR	     PANTRACE_ERR
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING	     PANTRACE_WARNING
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE	     PANTRACE_NOTICE
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO	     PANTRACE_INFO
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_SYSTEM   PANTRACE_DEBUG_SYSTEM
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROGRAM  PANTRACE_DEBUG_PROGRAM
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROCESS  PANTRACE_DEBUG_PROCESS
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_MODULE   PANTRACE_DEBUG_MODULE
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_UNIT     PANTRACE_DEBUG_UNIT
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_FUNCTION PANTRACE_DEBUG_FUNCTION
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_LINE     PANTRACE_DEBUG_LINE
#define LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG	     PANTRACE_DEBUG

#endif
