/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads, writes and discards of disks as the functions of drivers print them that print formats
 * call. The texts are those of drivers/scsi/scsi_trace.c, drivers/ata/libata-trace.c,
 * drivers/nvme/host/trace.c and drivers/nvme/target/trace.c; commands that a kernel can be made to
 * send are compared with its own text in the guest (tests/vm/trace-drivers.sh).
 */
#include "tap.h"
#include "trace/print_format/print_format.h"
#include "types/btf.h"
#include "types/tracefs_format.h"

static const char fields[] =
	"name: x\nID: 7\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 b;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 c;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc unsigned char[] cmnd;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 words[24];\toffset:24;\tsize:24;\tsigned:0;\n"
	"\tfield:char disk[8];\toffset:48;\tsize:8;\tsigned:1;\n\n";

struct record {
	u16 type;
	u8 flags, preempt;
	s32 pid;
	u32 a, b, c, cmnd;
	u8 words[24];
	char disk[8];
	u8 bytes[32];
};

static void print(const char *fmt, const struct record *rec, size_t size, struct strbuf *out,
		  const char **ret_refused)
{
	const struct print_context context = {.hz = 250};
	char *text = xasprintf("%sprint fmt: %s\n", fields, fmt);
	const struct type *record;
	struct type_store store;
	const char *print;

	type_store_init(&store);
	strbuf_reset(out);
	*ret_refused = "the fields are not understood";
	if (!tracefs_format_parse(&store, "x", text, &record, &print))
		print_format_run(print_format_compile(&store, "x", "x", record, print, ret_refused),
				 &context, rec, size, out);
	*ret_refused = *ret_refused ? "refused" : NULL;
	type_store_release(&store);
	free(text);
}

static void test_scsi(void)
{
	static const struct {
		u8 len, bytes[32];
		const char *want;
	} rows[] = {
		{6, {0x08, 0xff, 0x02, 0x03, 8}, "lba=2032131 txlen=8"},
		{6, {0x0a, 0, 0, 1, 0}, "lba=1 txlen=256"},
		{10, {0x28, 0x20, 0, 1, 0, 2, 0, 1, 4}, "lba=65538 txlen=260 protect=1"},
		{10,
		 {0x2a, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 1},
		 "lba=4294967295 txlen=1 protect=0"},
		{10, {0x2f, 0xe0, 0, 0, 0, 9, 0, 0, 1}, "-"}, /* VERIFY */
		{10, {0x41, 0x08, 0, 0, 0, 7, 0, 0, 3}, "lba=7 txlen=3 protect=0 unmap=1"},
		{12, {0xa8, 0, 0, 0, 1, 0, 0, 1, 0, 0}, "lba=256 txlen=65536 protect=0"},
		{16,
		 {0x88, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8},
		 "lba=72057594037927938 txlen=8 protect=0"},
		{16,
		 {0x93, 0x28, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 1, 0},
		 "lba=5 txlen=256 protect=1 unmap=1"},
		{16,
		 {0x9c, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 2, 0, 4},
		 "lba=5 txlen=4 boundary_size=2"},
		{10, {0x42, 0, 0, 0, 0, 0, 0, 0, 40}, "regions=2"},
		{16, {0x9e, 0x10}, "-"}, /* READ_CAPACITY_16 */
		{6, {0x12, 0, 0, 0, 36}, "-"}, /* INQUIRY */
		/* what no kernel records */
		{0, {0}, "(bad)"},
		{4, {0x28, 0, 0, 0}, "lba=(bad) txlen=(bad) protect=0"},
	};
	struct strbuf out = STRBUF_INIT;
	const char *refused;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record r = {.cmnd = (u32)rows[i].len << 16 | offsetof(struct record, bytes)};

		memcpy(r.bytes, rows[i].bytes, sizeof(r.bytes));
		print("\"%s\", scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->a)", &r,
		      offsetof(struct record, bytes) + rows[i].len, &out, &refused);
		is_str(refused ? refused : out.data, rows[i].want, rows[i].want);
	}
	strbuf_release(&out);
}

static void test_ata(void)
{
	static const struct {
		const char *call;
		u32 a, b, c;
		const char *want;
	} rows[] = {
		{"libata_trace_parse_status(p, REC->a)", 0x58, 0, 0, "{ DRDY DSC DRQ }"},
		{"libata_trace_parse_status(p, REC->a)", 0, 0, 0, "{ }"},
		{"libata_trace_parse_status(p, REC->a)", 0xff, 0, 0,
		 "{ BUSY DRDY DF DSC DRQ CORR SENSE ERR }"},
		{"libata_trace_parse_host_stat(p, REC->a)", 5, 0, 0, "{ INTR ACTIVE }"},
		{"libata_trace_parse_eh_action(p, REC->a)", 0, 0, 0, "0"},
		{"libata_trace_parse_eh_err_mask(p, REC->a)", 0x401, 0, 0, "401"},
		{"libata_trace_parse_qc_flags(p, REC->a)", 0x1000b, 0, 0,
		 "1000b{ ACTIVE DMAMAP IO FAILED }"},
		{"libata_trace_parse_tf_flags(p, REC->a)", 0x17, 0, 0,
		 "17{ LBA48 ISADDR DEV LBA }"},
		{"libata_trace_parse_subcmd(p, REC->a, REC->b, REC->c)", 0x64, 9, 0x20,
		 " DATASET_MANAGEMENT"},
		{"libata_trace_parse_subcmd(p, REC->a, REC->b, REC->c)", 0x65, 9, 1, ""},
		{"libata_trace_parse_subcmd(p, REC->a, REC->b, REC->c)", 0x25, 0, 0, ""},
	};
	struct strbuf out = STRBUF_INIT;
	const char *refused;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct record r = {.a = rows[i].a, .b = rows[i].b, .c = rows[i].c};
		char *fmt = xasprintf("\"%%s\", %s", rows[i].call);

		print(fmt, &r, sizeof(r), &out, &refused);
		is_str(refused ? refused : out.data, rows[i].want, fmt);
		free(fmt);
	}
	strbuf_release(&out);
}

static void test_nvme(void)
{
	static const struct {
		const char *function;
		u8 opcode, words[24];
		const char *want;
	} rows[] = {
		{"nvme_trace_parse_admin_cmd",
		 0x02,
		 {2, 0, 0x7f},
		 "cdw10=02 00 7f 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"},
		{"nvme_trace_parse_nvm_cmd",
		 0x02,
		 {0, 8, 0, 0, 1, 0, 0, 0, 7, 0, 0, 4, 7, 0, 0, 0, 3},
		 "slba=4294969344, len=7, ctrl=0x400, dsmgmt=7, reftag=3"},
		{"nvme_trace_parse_nvm_cmd", 0x09, {1, 0, 0, 0, 4}, "nr=1, attributes=4"},
		{"nvme_trace_parse_nvm_cmd",
		 0x00,
		 {0},
		 "cdw10=00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"},
		{"nvmet_trace_parse_fabrics_cmd",
		 0x04,
		 {1, 0, 0, 0, 8},
		 "specific=01 00 00 00 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
		 "00"},
		{"nvmet_trace_parse_nvm_cmd",
		 0x01,
		 {9, 0, 0, 0, 0, 0, 0, 0, 1},
		 "slba=9, len=1, ctrl=0x0, dsmgmt=0, reftag=0"},
	};
	struct record r = {.a = 0, .disk = "nvme0n1"};
	struct strbuf out = STRBUF_INIT;
	const char *refused;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *fmt = xasprintf("\"%%s\", %s(p, REC->a, REC->words)", rows[i].function);

		r.a = rows[i].opcode;
		memcpy(r.words, rows[i].words, sizeof(r.words));
		print(fmt, &r, sizeof(r), &out, &refused);
		is_str(refused ? refused : out.data, rows[i].want, rows[i].want);
		free(fmt);
	}
	print("\"%s|\", nvme_trace_disk_name(p, REC->disk)", &r, sizeof(r), &out, &refused);
	is_str(refused ? refused : out.data, "disk=nvme0n1, |", "the disk");
	r.disk[0] = '\0';
	print("\"%s|\", nvme_trace_disk_name(p, REC->disk)", &r, sizeof(r), &out, &refused);
	is_str(refused ? refused : out.data, "|", "no disk");
	print("\"%s %s\", nvmet_trace_ctrl_id(p, REC->b), nvmet_trace_ctrl_id(p, 7)", &r, sizeof(r),
	      &out, &refused);
	is_str(refused ? refused : out.data, "_ 7", "a controller's number");
	strbuf_release(&out);
}

static void test_names(void)
{
	static const struct {
		const char *call;
		u32 a;
		const char *want;
	} rows[] = {
		{"blk_zone_cond_str(REC->a)", 4, "CLOSED"},
		{"blk_zone_cond_str(REC->a)", 9, "UNKNOWN"},
		{"xen_hypercall_name(REC->a)", 26, "(mmuext_op)"},
		{"xen_hypercall_name(REC->a)", 11, ""},
		{"nullb_trace_disk_name(p, REC->disk)", 0, "disk=nullb0, "},
		{"decode_prq_descriptor(__get_dynamic_array(cmnd), 256, 0x0010000701230000ULL | "
		 "REC->a, 0x5 | 9 << 3 | 0x1234000, 3, 4)",
		 0, "rid=0x123 addr=0x1234 r-x-l pasid=0x7 index=0x9"},
		{"decode_prq_descriptor(__get_dynamic_array(cmnd), 256, REC->a, 2, 3, 4)", 1 << 9,
		 "rid=0x0 addr=0x0 -w--- pasid=0x0 index=0x0 private=0x3/0x4\n"},
	};
	struct strbuf out = STRBUF_INIT;
	const char *refused;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct record r = {.a = rows[i].a,
					 .disk = "nullb0",
					 .cmnd = 4 << 16 | offsetof(struct record, bytes)};
		char *fmt = xasprintf("\"%%s\", %s", rows[i].call);

		print(fmt, &r, sizeof(r), &out, &refused);
		is_str(refused ? refused : out.data, rows[i].want, fmt);
		free(fmt);
	}
	print("\"%0*llx\", (int)sizeof(u64) * 2, (unsigned long "
	      "long)pte_val(native_make_pte(REC->b))",
	      &(struct record){.b = 0xabc}, sizeof(struct record), &out, &refused);
	is_str(refused ? refused : out.data, "0000000000000abc", "a page table's word");
	print("\"%s\", blk_op_str(REC->a)", &(struct record){0}, sizeof(struct record), &out,
	      &refused);
	ok(refused != NULL, "numbers that the kernel's types do not tell are not guessed");
	strbuf_release(&out);
}

/*
 * arch/x86/kvm/mmu/mmutrace.h prints into the buffer itself; the bits are those of
 * arch/x86/include/asm/kvm_host.h.
 */
static void test_sequence(void)
{
	static const char fmt[] = "\"%s %s\", ({ const char *saved_ptr = trace_seq_buffer_ptr(p); "
				  "static const char *access_str[] = { \"---\", \"--x\", "
				  "\"w--\", \"w-x\" }; union kvm_mmu_page_role role; role.word = "
				  "REC->a; trace_seq_printf(p, \"gfn %llx l%u %u-byte "
				  "q%u%s %s%s\" \" %snxe %s%c\", REC->b, role.level, "
				  "role.has_4_byte_gpte ? 4 : 8, role.quadrant, role.direct ? "
				  "\" direct\" : \"\", access_str[role.access], role.invalid ? \" "
				  "invalid\" : \"\", role.efer_nx ? \"\" : \"!\", "
				  "REC->c ? \"unsync\" : \"sync\", 0); saved_ptr; }), REC->c ? "
				  "\"new\" : \"existing\"";
	static const struct {
		struct record record;
		const char *want;
	} rows[] = {
		{{.a = 1 | 1 << 4 | 2 << 5 | 3 << 8 | 1 << 12, .b = 0x1234, .c = 1},
		 "gfn 1234 l1 4-byte q2 w-x nxe unsync new"},
		{{.a = 4 | 1 << 7 | 1 << 8 | 1 << 11},
		 "gfn 0 l4 8-byte q0 direct --x invalid !nxe sync existing"},
		{{.a = 7 << 8}, "gfn 0 l0 8-byte q0 (bad) !nxe sync existing"},
	};
	struct type_store store;
	struct btf_source *btf;
	struct strbuf out = STRBUF_INIT;
	const struct type *record;
	const char *why = NULL, *print;
	char *text = xasprintf("%sprint fmt: %s\n", fields, fmt);
	struct print_format *f;

	type_store_init(&store);
	btf = btf_attach(&store, NULL);
	tracefs_format_parse(&store, "x", text, &record, &print);
	f = print_format_compile(&store, "x", "x", record, print, &why);
	if (!btf || !type_named(&store, "union kvm_mmu_page_role"))
		tap_skip("formats that print themselves",
			 "this kernel's types have no union kvm_mmu_page_role");
	else
		ok(!why, "a format that prints itself (%s)", why ? why : "compiled");
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !why; i++) {
		strbuf_reset(&out);
		print_format_run(f, &(struct print_context){0}, &rows[i].record,
				 sizeof(struct record), &out);
		is_str(out.data, rows[i].want, rows[i].want);
	}
	btf_release(btf);
	type_store_release(&store);
	strbuf_release(&out);
	free(text);
}

static void test_wrong_calls(void)
{
	static const char *const calls[] = {
		"scsi_trace_parse_cdb(p, REC->a, 6)",
		"scsi_trace_parse_cdb(p, REC->words)",
		"scsi_trace_parse_cdb()",
		"libata_trace_parse_status(p, REC->words)",
		"libata_trace_parse_status(p, somewhere)",
		"nvme_trace_parse_nvm_cmd(p, REC->words, REC->a)",
		"blk_zone_cond_str(REC->disk)",
		"xen_hypercall_name()",
		"trace_seq_buffer_ptr(REC->a)",
		"({ trace_seq_printf(p, \"x\"); \"y\"; })",
		"({ const char *s = trace_seq_buffer_ptr(p); trace_seq_printf(p, \"%d\"); s; })",
		"({ const char *s = trace_seq_buffer_ptr(p); trace_seq_printf(p, REC->a); s; })",
		"({ const char *s = trace_seq_buffer_ptr(p); static const char *n[] = { \"a\", 3 "
		"}; n[0]; })",
		"({ const char *s = trace_seq_buffer_ptr(p); trace_seq_printf(p, \"%s\", s); s; })",
		"({ const char *s = trace_seq_buffer_ptr(p); trace_seq_printf(p, \"%s\", REC->a ? "
		"s : \"\"); s; })",
		"({ const char *s = trace_seq_buffer_ptr(p); trace_seq_printf(p, \"%s\", ({ const "
		"char *t = trace_seq_buffer_ptr(p); t; })); s; })",
		"({ union no_such_union u; u.word = REC->a; u.word; })",
	};
	const struct record r = {.a = 1};
	struct strbuf out = STRBUF_INIT;
	const char *refused;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		char *fmt = xasprintf("\"%%s\", %s", calls[i]);

		print(fmt, &r, sizeof(r), &out, &refused);
		ok(refused != NULL, "%s is refused", calls[i]);
		free(fmt);
	}
	strbuf_release(&out);
}

int main(void)
{
	test_scsi();
	test_ata();
	test_nvme();
	test_names();
	test_sequence();
	test_wrong_calls();
	return tap_done();
}
