/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/blk_text.h"

#include <stdio.h>

#include "base/escape.h"

#define HEAD_SIZE  48u
#define HAS_CGROUP 0x100u

/* enum blktrace_cat, in the upper half of the action */
#define TC_WRITE   (1u << 17)
#define TC_FLUSH   (1u << 18)
#define TC_SYNC	   (1u << 19)
#define TC_PC	   (1u << 25)
#define TC_AHEAD   (1u << 27)
#define TC_META	   (1u << 28)
#define TC_DISCARD (1u << 29)
#define TC_FUA	   (1u << 31)

#define MESSAGE ((1u << 26) | 2)

bool blk_is_known(const char *release)
{
	unsigned int major, minor;

	return sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 19));
}

void blk_format_add(struct event_table *t, const char *release)
{
	static const char common[] = "name: " BLK_EVENT "\nID: %u\nformat:\n"
				     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
				     "\tsigned:0;\n"
				     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;"
				     "\tsigned:0;\n"
				     "\tfield:unsigned char common_preempt_count;\toffset:3;"
				     "\tsize:1;\tsigned:0;\n"
				     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
	static const struct {
		const char *type, *name;
		u32 offset, size;
	} fields[] = {
		{"u64", "sector", 16, 8}, {"u32", "bytes", 24, 4},   {"u32", "action", 28, 4},
		{"u32", "pid", 32, 4},	  {"u32", "device", 36, 4},  {"u32", "cpu", 40, 4},
		{"u16", "error", 44, 2},  {"u16", "pdu_len", 46, 2},
	};
	const struct event_info *const before = event_table_find(t, "ftrace", "user_stack"),
				       *const after = event_table_find(t, "ftrace", "bputs");
	struct strbuf text = STRBUF_INIT;

	if (!before || !after || after->id != before->id + 2 || !blk_is_known(release) ||
	    event_table_find(t, "ftrace", BLK_EVENT))
		return;
	strbuf_addf(&text, common, before->id + 1);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		strbuf_addf(&text, "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:0;\n",
			    fields[i].type, fields[i].name, fields[i].offset, fields[i].size);
	strbuf_addstr(&text, "\nprint fmt: \"%d\", REC->pid\n");
	event_table_add(t, "ftrace", text.data, text.len);
	strbuf_release(&text);
}

/* ---- the kernel's text: kernel/trace/blktrace.c ---- */

struct record {
	u64 sector;
	u32 bytes, action, pid, device;
	u16 error, more;
	const u8 *data; /* behind the cgroup */
	u32 data_size;
	u64 cgroup;
};

static bool read_record(const struct page_event *e, struct record *ret)
{
	const u8 *const at = e->data;
	u32 skip;

	if (e->size < HEAD_SIZE)
		return false;
	memcpy(&ret->sector, at + 16, 8);
	memcpy(&ret->bytes, at + 24, 4);
	memcpy(&ret->action, at + 28, 4);
	memcpy(&ret->device, at + 36, 4);
	memcpy(&ret->error, at + 44, 2);
	memcpy(&ret->more, at + 46, 2);
	skip = ret->action & HAS_CGROUP ? 8 : 0;
	if (ret->more < skip || HEAD_SIZE + (u32)ret->more > e->size)
		return false;
	ret->data = at + HEAD_SIZE + skip;
	ret->data_size = ret->more - skip;
	ret->cgroup = 0;
	memcpy(&ret->cgroup, at + HEAD_SIZE, skip);
	return true;
}

/* fill_rwbs() */
void blk_op_text(u32 action, u32 bytes, char ret[BLK_OP_SIZE])
{
	const bool is_message = (action & ~HAS_CGROUP) == MESSAGE;
	const struct {
		char letter;
		bool has;
	} letters[] = {
		{'F', action & TC_FLUSH},
		{action & TC_DISCARD ? 'D'
		 : action & TC_WRITE ? 'W'
		 : bytes	     ? 'R'
				     : 'N',
		 true},
		{'F', action & TC_FUA},
		{'A', action & TC_AHEAD},
		{'S', action & TC_SYNC},
		{'M', action & TC_META},
	};
	u32 n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(letters) && !is_message; i++)
		if (letters[i].has)
			ret[n++] = letters[i].letter;
	if (is_message)
		ret[n++] = 'N';
	ret[n] = '\0';
}

/* Big-endian; 0 if it is not there. */
static u64 number_at(const struct record *r, u32 at, u32 size)
{
	u64 v = 0;

	for (u32 i = 0; i < size && at + size <= r->data_size; i++)
		v = v << 8 | r->data[at + i];
	return v;
}

typedef void print_fn(const struct record *r, const char *comm, struct strbuf *out);

/* blk_log_dump_pdu(): without the zeros at the end */
static void print_data(const struct record *r, struct strbuf *out)
{
	u32 end = r->data_size;

	if (!end)
		return;
	while (end && !r->data[end - 1])
		end--;
	strbuf_addch(out, '(');
	for (u32 i = 0; i < r->data_size && i <= end; i++)
		strbuf_addf(out, "%s%02x", i ? " " : "", r->data[i]);
	strbuf_addstr(out, end + 1 < r->data_size ? " ..) " : ") ");
}

static void print_generic(const struct record *r, const char *comm, struct strbuf *out)
{
	if (r->action & TC_PC) {
		strbuf_addf(out, "%u ", r->bytes);
		print_data(r, out);
	} else if (r->bytes >> 9) {
		strbuf_addf(out, "%" PRIu64 " + %u ", r->sector, r->bytes >> 9);
	}
	strbuf_addf(out, "[%s]", comm);
}

static void print_with_error(const struct record *r, const char *comm, struct strbuf *out)
{
	if (r->action & TC_PC)
		print_data(r, out);
	else if (r->bytes >> 9)
		strbuf_addf(out, "%" PRIu64 " + %u ", r->sector, r->bytes >> 9);
	else
		strbuf_addf(out, "%" PRIu64 " ", r->sector);
	strbuf_addf(out, "[%u]", r->error);
}

static void print_remap(const struct record *r, const char *comm, struct strbuf *out)
{
	const u32 from = (u32)number_at(r, 0, 4);

	strbuf_addf(out, "%" PRIu64 " + %u <- (%u,%u) %" PRIu64, r->sector, r->bytes >> 9,
		    from >> 20, from & 0xfffff, number_at(r, 8, 8));
}

static void print_plug(const struct record *r, const char *comm, struct strbuf *out)
{
	strbuf_addf(out, "[%s]", comm);
}

static void print_unplug(const struct record *r, const char *comm, struct strbuf *out)
{
	strbuf_addf(out, "[%s] %" PRIu64, comm, number_at(r, 0, 8));
}

static void print_split(const struct record *r, const char *comm, struct strbuf *out)
{
	strbuf_addf(out, "%" PRIu64 " / %" PRIu64 " [%s]", r->sector, number_at(r, 0, 8), comm);
}

/* what2act[] */
static const struct {
	const char *name;
	print_fn *print;
} actions[] = {
	[BLK_QUEUE] = {"Q", print_generic},
	{"M", print_generic},
	{"F", print_generic},
	{"G", print_generic},
	{"S", print_generic},
	{"R", print_with_error},
	[BLK_ISSUE] = {"D", print_generic},
	[BLK_COMPLETE] = {"C", print_with_error},
	{"P", print_plug},
	{"U", print_unplug},
	{"UT", print_unplug},
	[BLK_INSERT] = {"I", print_generic},
	{"X", print_split},
	{"B", print_generic},
	{"A", print_remap},
};

/* blk_log_action() */
static void print_head(const struct record *r, const char *name, struct strbuf *out)
{
	char op[BLK_OP_SIZE];

	blk_op_text(r->action, r->bytes, op);
	strbuf_addf(out, "%3u,%-3u ", r->device >> 20, r->device & 0xfffff);
	if (r->action & HAS_CGROUP)
		strbuf_addf(out, "%x,%-x ", (u32)r->cgroup, (u32)(r->cgroup >> 32));
	strbuf_addf(out, "%2s %3s ", name, op);
}

static void print_message(const struct record *r, bool raw, struct strbuf *out)
{
	const char *const text = (const char *)r->data;

	print_head(r, "m", out);
	if (raw)
		strbuf_add(out, text, r->data_size);
	else
		escape_line(out, text, r->data_size);
}

void blk_text_print(struct task_names *tasks, const struct page_event *e, bool raw_strings,
		    struct strbuf *out)
{
	struct record r;
	u32 action;

	if (!read_record(e, &r)) {
		strbuf_addstr(out, "a record of blk that is too short\n");
		return;
	}
	action = r.action & 0xffff & ~HAS_CGROUP;
	if ((r.action & ~HAS_CGROUP) == MESSAGE) {
		print_message(&r, raw_strings, out);
	} else if (!action || action >= ARRAY_SIZE(actions)) {
		strbuf_addf(out, "Unknown action %x", action);
	} else {
		print_head(&r, actions[action].name, out);
		actions[action].print(&r, task_name(tasks, page_event_pid(e), NULL), out);
	}
	strbuf_addch(out, '\n');
}
