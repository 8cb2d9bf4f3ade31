/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/heatmap.h"

#include <time.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/vector.h"

#define ROWS	    256u
#define MAX_COLUMNS 1200u /* columns drawn; if there are more, neighbours are added together */
#define BOX	    9 /* height of a row in pixels */
#define PLOT_WIDTH  1000
#define LEFT	    80
#define TOP	    40
#define BOTTOM	    60
#define RIGHT	    20

struct cell {
	u32 row;
	u64 count;
};

struct column {
	u64 from_ns, to_ns;
	VECTOR(struct cell) cells;
};

struct heatmap {
	char *title, *unit;
	VECTOR(struct column) columns;
};

/* As it is drawn: columns x rows. */
struct picture {
	const struct heatmap *h;
	u32 ncolumns, per_column, first_row, nrows;
	u64 *counts; /* [column * nrows + row - first_row] */
	u64 most, total;
	double width;
};

u32 heatmap_row(u64 value)
{
	u32 n;

	if (value < 4)
		return (u32)value;
	n = 63 - (u32)__builtin_clzll(value);
	return 4 * (n - 1) + (u32)((value >> (n - 2)) & 3);
}

u64 heatmap_row_begin(u32 row)
{
	u32 n = row / 4 + 1;

	if (row < 4)
		return row;
	return n > 63 ? UINT64_MAX : (u64)(4 + row % 4) << (n - 2);
}

struct heatmap *heatmap_new(const char *title, const char *unit)
{
	struct heatmap *h = xzalloc(sizeof(*h));

	h->title = xstrdup(title);
	h->unit = xstrdup(unit);
	return h;
}

void heatmap_free(struct heatmap *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->columns.len; i++)
		vector_free(&h->columns.items[i].cells);
	vector_free(&h->columns);
	free(h->title);
	free(h->unit);
	free(h);
}

void heatmap_begin_column(struct heatmap *h, u64 from_ns, u64 to_ns)
{
	vector_push(&h->columns, (struct column){.from_ns = from_ns, .to_ns = to_ns});
}

void heatmap_add(struct heatmap *h, u64 value, u64 count)
{
	if (h->columns.len && count)
		vector_push(&vector_last(&h->columns).cells,
			    (struct cell){heatmap_row(value), count});
}

bool heatmap_format_of(const char *path, enum heatmap_format *ret)
{
	const char *dot = strrchr(path, '.');

	if (!dot)
		return false;
	*ret = str_eq(dot, ".svg") ? HEATMAP_SVG : HEATMAP_HTML;
	return str_eq(dot, ".svg") || str_eq(dot, ".html") || str_eq(dot, ".htm");
}

/* ---- what is drawn ---- */

static void find_rows(struct picture *p)
{
	u32 low = ROWS, high = 0;

	for (size_t i = 0; i < p->h->columns.len; i++) {
		const struct column *c = &p->h->columns.items[i];

		for (size_t k = 0; k < c->cells.len; k++) {
			low = MIN(low, c->cells.items[k].row);
			high = MAX(high, c->cells.items[k].row);
		}
	}
	/* From one power of two to another, so that the axis has labels. */
	p->first_row = low > high ? 0 : low / 4 * 4;
	p->nrows = (low > high ? 4 : high / 4 * 4 + 4) - p->first_row;
}

static void picture_make(struct picture *p, const struct heatmap *h)
{
	const u32 n = MAX((u32)h->columns.len, 1u);

	*p = (struct picture){.h = h};
	p->per_column = (n + MAX_COLUMNS - 1) / MAX_COLUMNS;
	p->ncolumns = (n + p->per_column - 1) / p->per_column;
	p->width = MIN((double)PLOT_WIDTH / p->ncolumns, 40.0);
	find_rows(p);
	p->counts = xzalloc((size_t)p->ncolumns * p->nrows * sizeof(*p->counts));
	for (size_t i = 0; i < h->columns.len; i++) {
		const struct column *c = &h->columns.items[i];

		for (size_t k = 0; k < c->cells.len; k++) {
			u64 *count = &p->counts[i / p->per_column * p->nrows +
						c->cells.items[k].row - p->first_row];

			*count += c->cells.items[k].count;
			p->total += c->cells.items[k].count;
			p->most = MAX(p->most, *count);
		}
	}
}

static void add_xml(struct strbuf *out, const char *s)
{
	escape_xml(out, s, strlen(s));
}

void heatmap_add_value(struct strbuf *out, const char *unit, u64 value)
{
	static const char *const times[] = {"ns", "us", "ms", "s", NULL};
	static const char *const sizes[] = {"bytes", "KiB", "MiB", "GiB", "TiB", NULL};
	const bool is_size = str_eq(unit, "bytes");
	const char *const *names = is_size ? sizes : times;
	const double step = is_size ? 1024 : 1000;
	double v = (double)value;
	u32 i = 0;

	while (names[i] && !str_eq(names[i], unit))
		i++;
	if (!names[i]) {
		strbuf_addf(out, "%llu%s", (unsigned long long)value, *unit ? " " : "");
		add_xml(out, unit);
		return;
	}
	for (; v >= step && names[i + 1]; i++)
		v /= step;
	strbuf_addf(out, "%.4g %s", v, names[i]);
}

static void add_time(struct strbuf *out, u64 ns)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[32];

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		strbuf_addstr(out, text);
}

/* ---- SVG ---- */

static void add_style(struct strbuf *out)
{
	strbuf_addstr(out, "<style>.heat text{font:12px sans-serif;fill:#222}.heat "
			   ".title{font-size:16px}.heat .axis{stroke:#888;"
			   "stroke-width:1}.heat .grid{stroke:#8884;stroke-width:.5}.heat "
			   ".back{fill:#fff}.heat rect.c:hover"
			   "{stroke:#06c;stroke-width:1.5}@media(prefers-color-scheme:dark){.heat "
			   "text{fill:#ddd}.heat .back{fill:#16181c}"
			   "}</style>\n");
}

/*
 * The darkest cell is the most frequent. By the square root, so that rare values are visible, too.
 */
static u32 shade(const struct picture *p, u64 count)
{
	double part = (double)count / (double)p->most, root = part;

	for (int i = 0; i < 20; i++) /* Newton */
		root = 0.5 * (root + part / root);
	return (u32)(root * 215 + 0.5);
}

static void add_cell(struct strbuf *out, const struct picture *p, u32 column, u32 row, u64 count,
		     u64 in_column)
{
	const struct column *first = &p->h->columns.items[column * p->per_column];
	const u32 last = MIN((column + 1) * p->per_column, (u32)p->h->columns.len) - 1;
	const u32 s = shade(p, count);

	strbuf_addf(out,
		    "<rect class=\"c\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
		    "fill=\"#%02x%02x%02x\"><title>",
		    LEFT + column * p->width, TOP + (p->nrows - 1 - row) * BOX, p->width, BOX, 255u,
		    235u - s, 220u - s);
	add_time(out, first->from_ns);
	strbuf_addstr(out, " to ");
	add_time(out, p->h->columns.items[last].to_ns);
	strbuf_addstr(out, ", ");
	heatmap_add_value(out, p->h->unit, heatmap_row_begin(p->first_row + row));
	strbuf_addstr(out, " to ");
	heatmap_add_value(out, p->h->unit, heatmap_row_begin(p->first_row + row + 1));
	strbuf_addf(out, ": %llu (%.1f %% of the column's %llu)</title></rect>\n",
		    (unsigned long long)count, 100.0 * (double)count / (double)in_column,
		    (unsigned long long)in_column);
}

static void add_cells(struct strbuf *out, const struct picture *p)
{
	for (u32 c = 0; c < p->ncolumns && p->total; c++) {
		const u64 *counts = p->counts + (size_t)c * p->nrows;
		u64 sum = 0;

		for (u32 r = 0; r < p->nrows; r++)
			sum += counts[r];
		for (u32 r = 0; r < p->nrows; r++)
			if (counts[r])
				add_cell(out, p, c, r, counts[r], sum);
	}
}

static void add_value_axis(struct strbuf *out, const struct picture *p)
{
	/* A label for each power of two, or fewer if they would touch. */
	const u32 step = p->nrows > 120 ? 16 : p->nrows > 60 ? 8 : 4;

	for (u32 r = 0; r <= p->nrows; r += step) {
		const u32 y = TOP + (p->nrows - r) * BOX;

		strbuf_addf(out,
			    "<line class=\"grid\" x1=\"%d\" y1=\"%u\" x2=\"%.1f\" y2=\"%u\"/><text "
			    "x=\"%d\" y=\"%u\" "
			    "text-anchor=\"end\">",
			    LEFT, y, LEFT + p->ncolumns * p->width, y, LEFT - 6, y + 4);
		heatmap_add_value(out, p->h->unit, heatmap_row_begin(p->first_row + r));
		strbuf_addstr(out, "</text>\n");
	}
}

static void add_time_axis(struct strbuf *out, const struct picture *p)
{
	const u32 y = TOP + p->nrows * BOX;
	u32 step = 1;

	while (step * p->width < 90)
		step++;
	for (u32 c = 0; c < p->ncolumns && p->h->columns.len; c += step) {
		const double x = LEFT + c * p->width;

		strbuf_addf(out,
			    "<line class=\"axis\" x1=\"%.1f\" y1=\"%u\" x2=\"%.1f\" "
			    "y2=\"%u\"/><text x=\"%.1f\" y=\"%u\">",
			    x, y, x, y + 5, x, y + 18);
		add_time(out, p->h->columns.items[c * p->per_column].from_ns);
		strbuf_addstr(out, "</text>\n");
	}
}

static void add_svg(struct strbuf *out, const struct picture *p)
{
	const u32 width = LEFT + (u32)(p->ncolumns * p->width) + RIGHT,
		  height = TOP + p->nrows * BOX + BOTTOM;

	strbuf_addf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heat\" viewBox=\"0 0 %u "
		    "%u\" width=\"%u\" "
		    "height=\"%u\">\n",
		    MAX(width, 600u), height, MAX(width, 600u), height);
	add_style(out);
	strbuf_addf(out,
		    "<rect class=\"back\" width=\"%u\" height=\"%u\"/>\n<text class=\"title\" "
		    "x=\"%d\" y=\"24\">",
		    MAX(width, 600u), height, LEFT);
	add_xml(out, p->h->title);
	strbuf_addstr(out, "</text>\n");
	add_value_axis(out, p);
	add_cells(out, p);
	add_time_axis(out, p);
	strbuf_addf(out, "<text x=\"%d\" y=\"%u\">%llu in %zu interval%s; darkest: %llu</text>\n",
		    LEFT, height - 14, (unsigned long long)p->total, p->h->columns.len,
		    plural(p->h->columns.len), (unsigned long long)p->most);
	strbuf_addstr(out, "</svg>\n");
}

int heatmap_write(const struct heatmap *h, int fd, enum heatmap_format format)
{
	struct strbuf out = STRBUF_INIT;
	struct picture p;
	int err;

	picture_make(&p, h);
	if (format == HEATMAP_HTML) {
		strbuf_addstr(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
				    "charset=\"utf-8\"><meta name=\"viewport\" "
				    "content=\"width=device-width\"><title>");
		add_xml(&out, h->title);
		strbuf_addstr(&out,
			      "</title><style>body{margin:1em;background:#fff;color:#222;font:14px "
			      "sans-serif}svg{max-width:"
			      "100%;height:auto}@media(prefers-color-scheme:dark){body{background:#"
			      "16181c;color:#ddd}}"
			      "</style></head><body>\n");
	}
	add_svg(&out, &p);
	if (format == HEATMAP_HTML)
		strbuf_addstr(&out,
			      "<p id=\"at\">Point at a "
			      "box.</p>\n<script>document.querySelector('svg').addEventListener("
			      "'mouseover',function(e){var "
			      "t=e.target.querySelector&&e.target.querySelector('title');"
			      "if(t)document.getElementById('at').textContent=t.textContent})</"
			      "script></body></html>\n");
	err = write_all(fd, out.data, out.len);
	strbuf_release(&out);
	free(p.counts);
	return err;
}
