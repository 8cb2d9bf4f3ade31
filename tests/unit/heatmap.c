/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heat maps: rows of values, nothing left out, titles that hold anything. */
#include "view/heatmap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "tap.h"

static char *written(const struct heatmap *h, enum heatmap_format format)
{
	char path[] = "/tmp/pantrace-heatmap.XXXXXX", *text = NULL;
	int fd = mkstemp(path);

	if (heatmap_write(h, fd, format) || file_read(path, 0, &text, NULL))
		text = xstrdup("");
	close(fd);
	unlink(path);
	return text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void test_rows(void)
{
	int bad = 0;
	u64 v = 1;

	for (u32 r = 0; r < 251; r++)
		if (heatmap_row(heatmap_row_begin(r)) != r ||
		    heatmap_row(heatmap_row_begin(r + 1) - 1) != r)
			bad++;
	is_int(bad, 0, "each row begins where the one below ends");
	for (int i = 0; i < 100000; i++) {
		u32 r;

		v = v * 6364136223846793005u + 1442695040888963407u;
		r = heatmap_row(v >> (v & 63));
		bad += heatmap_row_begin(r) > v >> (v & 63);
	}
	is_int(bad, 0, "every value lies in its row");
	is_int(heatmap_row(UINT64_MAX), 251, "the largest value has a row");
}

static void test_nothing_left_out(void)
{
	struct heatmap *h = heatmap_new("t", "us");
	char *svg;

	for (u64 i = 0; i < 5000; i++) {
		heatmap_begin_column(h, i * 1000000000, (i + 1) * 1000000000);
		heatmap_add(h, 5, 1);
	}
	heatmap_add(h, 1u << 20, 7); /* the worst outlier, in the last column */
	svg = written(h, HEATMAP_SVG);
	ok(strstr(svg, ">5007 in 5000 intervals") != NULL, "all are counted");
	is_int(count(svg, "<rect class=\"c\""), 1000 + 1,
	       "columns are added together; the last and highest box is there");
	ok(strstr(svg, "1.049 s to 1.311 s: 7 (58.3 % of the column's 12)") != NULL,
	   "with its range and share");
	free(svg);
	heatmap_free(h);
}

static void test_titles(void)
{
	struct heatmap *h = heatmap_new("<script>alert(1)</script> & \"x\" \x01\xff", "ms");
	char *html;

	heatmap_begin_column(h, 0, 1000000000);
	heatmap_add(h, 3, 2);
	html = written(h, HEATMAP_HTML);
	is_int(count(html, "<script>"), 1, "a title is no script");
	ok(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot; \\x01\\xff") !=
		   NULL,
	   "a title is text");
	ok(!strstr(html, "http://") ||
		   count(html, "http://") == count(html, "http://www.w3.org/2000/svg"),
	   "nothing is loaded from elsewhere");
	ok(strstr(html, "3 ms to 4 ms: 2 (100.0 %") != NULL, "a unit");
	free(html);
	heatmap_free(h);
	h = heatmap_new("", "");
	html = written(h, HEATMAP_SVG);
	ok(strstr(html, "0 in 0 intervals") != NULL && strstr(html, "</svg>") != NULL,
	   "nothing at all is a picture, too");
	free(html);
	heatmap_free(h);
}

int main(void)
{
	enum heatmap_format f;

	test_rows();
	test_nothing_left_out();
	test_titles();
	ok(heatmap_format_of("a/b.svg", &f) && f == HEATMAP_SVG &&
		   heatmap_format_of("x.html", &f) && f == HEATMAP_HTML &&
		   !heatmap_format_of("x.png", &f) && !heatmap_format_of("svg", &f),
	   "formats by name");
	return tap_done();
}
