/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * Parses "56.789" with all nine digits: a double could not keep them for seconds since the epoch.
 */
static int seconds_parse(const char *text, s64 *ret)
{
	u64 seconds, unit = 100000000, rest = 0;
	char *end;

	errno = 0;
	seconds = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno || seconds > INT64_MAX / 1000000000)
		return -EINVAL;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			rest += (u64)(*end - '0') * unit;
	*ret = (s64)(seconds * 1000000000 + rest);
	return *end ? -EINVAL : 0;
}

int report_time_parse(const char *text, bool utc, s64 day_of_ns, s64 *ret)
{
	const time_t day = (time_t)(day_of_ns / 1000000000);
	const char *colon = strrchr(text, ':');
	struct tm tm = {0}, date;
	s64 seconds;
	int end = 0;

	if (seconds_parse(colon ? colon + 1 : text, &seconds))
		return -EINVAL;
	if (!colon) {
		*ret = seconds;
		return 0;
	}
	if (!(utc ? gmtime_r(&day, &tm) : localtime_r(&day, &tm)))
		return -EINVAL;
	date = tm; /* "12:34:56" begins as a year does */
	if (sscanf(text, "%d-%d-%d%*[ T]%d:%d:%n", &date.tm_year, &date.tm_mon, &date.tm_mday,
		   &date.tm_hour, &date.tm_min, &end) == 5 &&
	    end) {
		tm = date;
		tm.tm_year -= 1900;
		tm.tm_mon--;
	} else if (sscanf(text, "%d:%d:%n", &tm.tm_hour, &tm.tm_min, &end) != 2 || !end) {
		return -EINVAL;
	}
	if (text + end != colon + 1)
		return -EINVAL;
	tm.tm_sec = 0;
	tm.tm_isdst = -1;
	*ret = (s64)(utc ? timegm(&tm) : mktime(&tm)) * 1000000000 + seconds;
	return 0;
}

void report_time_text(s64 ns, bool utc, bool as_recorded, struct strbuf *out)
{
	const s64 part = (ns % 1000000000 + 1000000000) % 1000000000;
	const time_t seconds = (time_t)((ns - part) / 1000000000);
	char text[32];
	struct tm tm;

	if (!as_recorded && (utc ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm)) &&
	    strftime(text, sizeof(text), "%H:%M:%S", &tm))
		strbuf_addf(out, "%s.%09u", text, (u32)part);
	else
		strbuf_addf(out, "%lld.%09u", (long long)seconds, (u32)part);
}
