/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/sink.h"

static void value(struct json *j, const struct sink_value *v)
{
	if (v->text)
		json_string(j, v->text, v->len);
	else if (v->parts)
		v->parts(v->arg, j);
	else if (v->is_bool)
		json_bool(j, v->number);
	else
		json_u64(j, v->number);
}

static void row(struct sink *s, const struct sink_value *values)
{
	struct json j = JSON_INIT(s->out);

	json_object(&j);
	for (const struct sink_column *c = s->columns; c->key || c->title; c++, values++)
		if (c->key) {
			json_key(&j, c->key);
			value(&j, values);
		}
	json_end(&j, '}');
	json_end_line(&j);
}

static void header(struct sink *s)
{
}

const struct sink_format sink_as_json = {.header = header, .row = row};
