/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One object per line, the same as `report --json` prints; the rules are in base/json.h. */
#include "trace/writers/writer.h"

const char ndjson_schema[] =
	"{\n"
	"  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	"  \"title\": \"an event of a recording: a line of pantrace convert --to ndjson\",\n"
	"  \"$defs\": {\n"
	"    \"integer\": {\n"
	"      \"description\": \"beyond 2^53 - 1 in either direction: a string of its digits\",\n"
	"      \"anyOf\": [\n"
	"        {\"type\": \"integer\", \"minimum\": -9007199254740991, "
	"\"maximum\": 9007199254740991},\n"
	"        {\"type\": \"string\", \"pattern\": \"^-?[0-9]{16,20}$\"}\n"
	"      ]\n"
	"    }\n"
	"  },\n"
	"  \"type\": \"object\",\n"
	"  \"properties\": {\n"
	"    \"time_ns\": {\"$ref\": \"#/$defs/integer\", \"description\": \"since 1970, or as "
	"recorded where nobody knows\"},\n"
	"    \"event\": {\"type\": \"string\"},\n"
	"    \"host\": {\"type\": \"string\"},\n"
	"    \"process\": {\"type\": \"string\"},\n"
	"    \"pid\": {\"type\": \"integer\"},\n"
	"    \"cpu\": {\"type\": \"integer\", \"minimum\": 0},\n"
	"    \"context\": {\"type\": \"object\", \"description\": \"of kernel events procname "
	"and tid; of others what was recorded\"},\n"
	"    \"fields\": {\"type\": \"object\", \"description\": \"the event's own, by their "
	"names and types\"},\n"
	"    \"frames\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}, "
	"\"description\": \"the call chain, innermost first\"},\n"
	"    \"text\": {\"type\": \"string\", \"description\": \"of kernel events: as the "
	"kernel prints it\"}\n"
	"  },\n"
	"  \"required\": [\"time_ns\", \"event\"],\n"
	"  \"additionalProperties\": false\n"
	"}\n";

struct ndjson_writer {
	struct trace_writer writer;
	struct ctf_printer *printer;
};

static struct ndjson_writer *ndjson_of(struct trace_writer *w)
{
	return container_of(w, struct ndjson_writer, writer);
}

static void ndjson_begin(struct trace_writer *w)
{
	struct ctf_print_options options = recordings_options(w->options.all)->print;

	options.format = CTF_FORMAT_JSON;
	ndjson_of(w)->printer = ctf_printer_new(&options, -1);
}

static void ndjson_event(struct trace_writer *w, struct recording *r)
{
	struct ctf_printer *const printer = ndjson_of(w)->printer;
	struct strbuf *const line = ctf_print_out(printer);

	r->reader->print(r, printer);
	strbuf_add(&w->out, line->data, line->len);
	strbuf_reset(line);
}

static void ndjson_release(struct trace_writer *w)
{
	ctf_printer_release(ndjson_of(w)->printer);
}

const struct trace_format ndjson_format = {
	.name = "ndjson",
	.has_times = true,
	.suffixes = {".ndjson", ".jsonl"},
	.size = sizeof(struct ndjson_writer),
	.begin = ndjson_begin,
	.event = ndjson_event,
	.release = ndjson_release,
};
