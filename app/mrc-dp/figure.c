/* SPDX-License-Identifier: BSD-2-Clause */
#include "figure.h"

#include <inttypes.h>
#include <stdio.h>

const char *mrc_figure_size(uint64_t len, char *buf, size_t room)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double value = (double)len;
	int unit = 0;

	while (value >= 1000 && unit < 4) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, room, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *mrc_figure_time(uint64_t ns, char *buf, size_t room)
{
	if (ns < 10000)
		snprintf(buf, room, "%" PRIu64 " ns", ns);
	else if (ns < 10000000)
		snprintf(buf, room, "%.1f us", (double)ns / 1e3);
	else
		snprintf(buf, room, "%.1f ms", (double)ns / 1e6);
	return buf;
}
