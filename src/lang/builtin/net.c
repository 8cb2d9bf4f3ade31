/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network addresses and byte order. */
#include <arpa/inet.h>

#include "lang/builtin/util.h"

#define INET_SIZE 20 /* u32 family, u8 address[16] */

static bool is_bytes(const struct type *t)
{
	return t->kind == TYPE_STRING || (t->kind == TYPE_ARRAY && t->element->kind == TYPE_INT) ||
	       t->kind == TYPE_BUFFER || t->kind == TYPE_STRUCT || t->kind == TYPE_UNION;
}

/* ---- ntop ---- */

static void check_ntop(struct check *c, struct expr *call)
{
	const u32 at = call->nargs - 1;
	const struct type *t;

	call->type = type_simple(TYPE_INET);
	if (at && check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
	if (!check_known(c, call->args[at]))
		return;
	t = call->args[at]->type;
	if (!type_is_integer(t) && !is_bytes(t))
		check_error(c, call->span, "ntop() expects an integer or array argument, got %s",
			    builtin_kind(t));
	else if (is_bytes(t) && t->size != 4 && t->size != 16)
		check_error(c, call->span, "ntop() argument must be 4 or 16 bytes in size");
}

static void lower_ntop(struct lower *l, struct expr *call, struct value *ret)
{
	struct expr *arg = call->args[call->nargs - 1];
	ir_reg family = 0, slot;
	struct value v;

	if (call->nargs > 1)
		family = lower_scalar(l, call->args[0]);
	lower_expr(l, arg, &v);
	lower_slot(l, call->type, "inet", &slot);
	ir_zero(l->f, slot, 0, INET_SIZE);
	if (type_is_integer(arg->type)) {
		/*
		 * In network order, as in the kernel's structures: the first byte in memory is the
		 * first of the address.
		 */
		ir_store(l->f, slot, 4, 4, lower_to_register(l, &v));
		ir_store_imm(l->f, slot, 0, 4, AF_INET);
	} else {
		v = lower_materialise(l, &v, call->span);
		ir_copy(l->f, slot, 4, v.reg, v.constant, arg->type->size);
		ir_store_imm(l->f, slot, 0, 4, arg->type->size == 4 ? AF_INET : AF_INET6);
	}
	if (family)
		ir_store(l->f, slot, 0, 4, family);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

/* ---- pton ---- */

static void check_pton(struct check *c, struct expr *call)
{
	const char *text;
	u8 *address;
	int family;

	call->type = type_array(c->types, type_int(1, false), 4);
	if (!check_arg_literal_string(c, call, 0))
		return;
	text = builtin_literal(call->args[0]);
	if (!text || (!strchr(text, '.') && !strchr(text, ':'))) {
		check_error(c, call->span,
			    "pton() expects an string argument of an IPv4/IPv6 address, got %s",
			    text ? text : "");
		return;
	}
	family = strchr(text, ':') ? AF_INET6 : AF_INET;
	address = arena_alloc(c->arena, 16);
	if (inet_pton(family, text, address) != 1) {
		check_error(c, call->span, "pton() expects a valid IPv4/IPv6 address, got %s",
			    text);
		return;
	}
	call->annotation = address;
	call->type = type_array(c->types, type_int(1, false), family == AF_INET ? 4 : 16);
}

static void lower_pton(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg slot;
	s32 word;

	lower_slot(l, call->type, "pton", &slot);
	for (u32 i = 0; i < call->type->size; i += 4) {
		memcpy(&word, (u8 *)call->annotation + i, 4);
		ir_store_imm(l->f, slot, i, 4, word);
	}
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

/* ---- macaddr ---- */

#define MAC_BYTES 6

static void check_macaddr(struct check *c, struct expr *call)
{
	const struct type *t;

	call->type = type_simple(TYPE_MAC);
	if (!check_known(c, call->args[0]))
		return;
	t = call->args[0]->type;
	if (call->args[0]->kind == EXPR_STRING)
		check_error(c, call->span, "macaddr() does not support literal string arguments");
	else if (!type_is_integer(t) && t->kind != TYPE_POINTER && !is_bytes(t))
		check_error(c, call->span,
			    "macaddr() only supports array or pointer arguments (%s provided)",
			    builtin_kind(t));
	else if (is_bytes(t) && t->size < MAC_BYTES)
		check_error(c, call->span, "macaddr() argument must be at least 6 bytes in size");
}

static void lower_macaddr(struct lower *l, struct expr *call, struct value *ret)
{
	struct expr *arg = call->args[0];
	ir_reg slot, result;
	struct value v;

	lower_expr(l, arg, &v);
	lower_slot(l, call->type, "mac", &slot);
	ir_zero(l->f, slot, 0, 8);
	if (type_is(arg->type, TYPE_STRING) && v.kind == VALUE_MEMORY &&
	    (v.space == SPACE_KERNEL || v.space == SPACE_USER || v.space == SPACE_UNKNOWN)) {
		/* Read as a string it would lose its last byte, and end at a zero. */
		result = lower_read(l, slot, 0, MAC_BYTES, v.reg, v.constant, v.space);
		lower_helper_error(l, BPF_FUNC_probe_read_kernel, result, call->span);
	} else if (is_bytes(arg->type)) {
		v = lower_materialise(l, &v, call->span);
		ir_copy(l->f, slot, 0, v.reg, v.constant + (arg->type->kind == TYPE_BUFFER ? 4 : 0),
			MAC_BYTES);
	} else {
		result = lower_read(l, slot, 0, MAC_BYTES, lower_to_register(l, &v), 0,
				    builtin_space(arg));
		lower_helper_error(l, BPF_FUNC_probe_read_kernel, result, call->span);
	}
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
	ret->is_zero_padded = true;
}

/* ---- bswap ---- */

static void check_bswap(struct check *c, struct expr *call)
{
	const struct type *t;

	call->type = type_int(8, false);
	if (!check_known(c, call->args[0]))
		return;
	t = call->args[0]->type;
	if (!type_is_integer(t))
		check_error(c, call->span, "bswap() only supports integer arguments (%s provided)",
			    builtin_kind(t));
	else
		call->type = type_int(MIN(t->size, 8U), false);
}

static void lower_bswap(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg r = lower_scalar(l, call->args[0]), dst;

	if (call->type->size == 1) {
		*ret = value_register(call->type, ir_extend(l->f, r, 1, false));
		return;
	}
	dst = ir_reg_new(l->f);
	ir_add(l->f,
	       (struct ir_insn){.op = IR_BSWAP, .size = call->type->size, .dst = dst, .a = r});
	*ret = value_register(call->type, dst);
}

/* ---- sockets ---- */

static void check_socket_cookie(struct check *c, struct expr *call)
{
	const struct type *t;

	call->type = type_int(8, false);
	if (!check_known(c, call->args[0]))
		return;
	t = call->args[0]->type;
	if (t->kind != TYPE_POINTER || t->element->kind != TYPE_STRUCT || !t->element->name ||
	    (!str_eq(t->element->name, "sock") && !str_eq(t->element->name, "struct sock")))
		check_error(c, call->span,
			    "socket_cookie() only supports 'struct sock *' as the argument (%s "
			    "provided)",
			    t->kind == TYPE_POINTER ? type_str(c->arena, t) : builtin_kind(t));
	if (!c->unit->context.attach_btf_id)
		check_error(c, call->span,
			    "socket_cookie can only be used with 'fentry', 'fexit' and "
			    "'rawtracepoint' probes");
}

static void lower_socket_cookie(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg r = lower_scalar(l, call->args[0]);

	*ret = value_register(call->type, ir_call_n(l->f, BPF_FUNC_get_socket_cookie, r));
}

/* ---- skboutput ---- */

#define PACKET_MAX 65535 /* bytes that are asked for at most; also BPF_F_CTXLEN_MASK has more */

static void check_skboutput(struct check *c, struct expr *call)
{
	const struct type *t;
	s64 offset;

	call->type = type_int(4, true);
	if (!check_arg_literal_string(c, call, 0) || !check_known(c, call->args[1]))
		return;
	t = call->args[1]->type;
	if (t->kind != TYPE_POINTER || t->element->kind != TYPE_STRUCT || !t->element->name ||
	    (!str_eq(t->element->name, "sk_buff") && !str_eq(t->element->name, "struct sk_buff")))
		check_error(c, call->span,
			    "skboutput() only supports 'struct sk_buff *' as the second argument "
			    "(%s provided)",
			    t->kind == TYPE_POINTER ? type_str(c->arena, t) : builtin_kind(t));
	check_arg_integer(c, call, 2);
	if (check_arg_constant(c, call, 3, &offset) && (offset < 0 || offset > PACKET_MAX))
		check_error(c, call->args[3]->span, "skboutput(): the offset must be 0..%d",
			    PACKET_MAX);
	if (!c->unit->context.attach_btf_id)
		check_error(c, call->span,
			    "skboutput can only be used with 'fentry', 'fexit' and 'rawtracepoint' "
			    "probes");
}

/* First struct packet_header of engine/packets.c; the kernel appends the packet. */
static void lower_skboutput(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 map = builtin_map(l->script, MAP_PACKETS);
	const u32 index = lower_action(l, ACTION_SKBOUTPUT, NULL, 0, call->span);
	struct action *a = &l->script->actions.items[index];
	ir_reg skb, flags, header;

	a->format.text = builtin_literal(call->args[0]);
	a->packet_offset = (u32)call->args[3]->integer;
	skb = lower_scalar(l, call->args[1]);
	flags = builtin_bound(l, lower_scalar(l, call->args[2]), PACKET_MAX);
	flags = ir_binary(l->f, IR_OR, ir_binary_imm(l->f, IR_SHL, flags, 32),
			  ir_const(l->f, BPF_F_CURRENT_CPU));
	header = ir_slot_address(l->f, ir_slot(l->f, 16, 8, "packet"));
	ir_store_imm(l->f, header, 0, 4, index);
	ir_store_imm(l->f, header, 4, 4, 0);
	ir_store(l->f, header, 8, 8, ir_call(l->f, BPF_FUNC_ktime_get_boot_ns, 0, NULL));
	*ret = value_register(call->type,
			      ir_extend(l->f,
					ir_call_n(l->f, BPF_FUNC_skb_output, skb, ir_map(l->f, map),
						  flags, header, ir_const(l->f, 16)),
					4, true));
}

const struct builtin builtins_net[] = {
	{"ntop", "inet ntop([int64 family,] addr)",
	 "An IPv4 (integer in network order, 4 bytes) or IPv6 (16 bytes) address that prints as "
	 "text; the family follows from the size.",
	 "", BUILTIN_CALL, 1, 2, check_ntop, lower_ntop},
	{"pton", "uint8[] pton(\"address\")",
	 "The 4 or 16 bytes of an IPv4 or IPv6 address in network order; converted when the script "
	 "is compiled.",
	 "", BUILTIN_CALL, 1, 1, check_pton, lower_pton},
	{"macaddr", "macaddr_t macaddr(char mac[6])",
	 "Six bytes as a hardware address, which prints as 00:11:22:AA:BB:CC.", "", BUILTIN_CALL, 1,
	 1, check_macaddr, lower_macaddr},
	{"bswap", "uintN bswap(uintN n)",
	 "The bytes of n in reverse order; the width is that of n.", "", BUILTIN_CALL, 1, 1,
	 check_bswap, lower_bswap},
	{"socket_cookie", "uint64 socket_cookie(struct sock *sk)",
	 "The kernel's unique number for a socket, the same for the socket's life (fentry, fexit, "
	 "rawtracepoint).",
	 "5.12", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_socket_cookie, lower_socket_cookie},
	{"skboutput",
	 "int32 skboutput(const string path, struct sk_buff *skb, uint64 length, const uint64 "
	 "offset)",
	 "Writes the first `length` bytes of a packet, without the first `offset` ones, to a "
	 "capture file for tcpdump and Wireshark, whose packets begin with the IP header (skip 14 "
	 "bytes of Ethernet where they are there). 0, or a negative error.",
	 "5.5", BUILTIN_LIVE | BUILTIN_CALL, 4, 4, check_skboutput, lower_skboutput},
	{0},
};
