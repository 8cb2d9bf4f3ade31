/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/text/folded.h"

#include "trace/recording.h"

bool text_folded_parse(const struct line *line, struct text_event *event,
		       struct text_range *ret_frames)
{
	const char *const blank = line->size ? memrchr(line->text, ' ', line->size) : NULL;
	struct text_at count = {blank, line->text + line->size};
	const char *first;

	*event = (struct text_event){.cpu = -1, .pid = -1, .tid = -1};
	if (!blank || blank == line->text)
		return false;
	count.at++;
	if (!text_number(&count, &event->period) || count.at != count.end)
		return false;
	first = memchr(line->text, ';', (size_t)(blank - line->text)) ?: blank;
	event->comm = (struct text_range){line->text, (size_t)(first - line->text)};
	event->name = (struct text_range){"stack", 5};
	event->text = (struct text_range){line->text, 0};
	*ret_frames = (struct text_range){MIN(first + 1, blank), 0};
	ret_frames->size = (size_t)(blank - ret_frames->at);
	return event->comm.size;
}

bool text_folded_first(struct text_range *frames, struct text_range *ret)
{
	const char *const end = frames->at + frames->size;
	const char *const at = memchr(frames->at, ';', frames->size) ?: end;

	if (!frames->size)
		return false;
	*ret = (struct text_range){frames->at, (size_t)(at - frames->at)};
	frames->at = MIN(at + 1, end);
	frames->size = (size_t)(end - frames->at);
	return true;
}

bool text_folded_is(const void *head, size_t len)
{
	const char *at = head, *const end = at + len;
	bool has_frames = false;

	if (memchr(head, 0, len))
		return false;
	while (at < end) {
		const char *const newline = memchr(at, '\n', (size_t)(end - at));
		const struct line line = {at, (size_t)((newline ?: end) - at)};
		const bool is_cut = !newline && len == RECORDING_HEAD;
		struct text_event event;
		struct text_range frames = {0};

		if (is_cut) /* of a deep stack its frames are all that is seen */
			return has_frames || memchr(at, ';', line.size);
		if (line.size && *line.text != '#' && !text_folded_parse(&line, &event, &frames))
			return false;
		has_frames |= line.size && frames.size;
		at = newline ? newline + 1 : end;
	}
	return has_frames;
}
