/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "ctl_private.h"

struct unit_row {
	const char *suffix;
	uint64_t factor;
};

static const struct unit_row time_rows[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000},
	{"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}, {NULL, 0}};

static const struct unit_row rate_rows[] = {{"bit/s", 1}, {"bps", 1}, {"k", 1000}, {"K", 1000},
	{"M", 1000000}, {"G", 1000000000}, {"T", 1000000000000}, {"kbit/s", 1000},
	{"Mbit/s", 1000000}, {"Gbit/s", 1000000000}, {"Tbit/s", 1000000000000}, {"kbps", 1000},
	{"Kbps", 1000}, {"Mbps", 1000000}, {"Gbps", 1000000000}, {"Tbps", 1000000000000},
	{NULL, 0}};

static const struct unit_row size_rows[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576},
	{"GiB", 1073741824}, {"TiB", 1099511627776}, {"kB", 1000}, {"KB", 1000}, {"MB", 1000000},
	{"GB", 1000000000}, {"TB", 1000000000000}, {NULL, 0}};

static const struct unit_row *unit_rows(enum mrc_ctl_unit unit)
{
	switch (unit) {
	case MRC_CTL_UNIT_TIME:
		return time_rows;
	case MRC_CTL_UNIT_RATE:
		return rate_rows;
	case MRC_CTL_UNIT_SIZE:
		return size_rows;
	case MRC_CTL_UNIT_NONE:
	case MRC_CTL_UNIT_HEX:
	case MRC_CTL_UNIT_RATIO:
		break;
	}
	return NULL;
}

const char *mrc_ctl_unit_hint(enum mrc_ctl_unit unit)
{
	switch (unit) {
	case MRC_CTL_UNIT_TIME:
		return "nanoseconds, or a string like \"10us\", \"1.5ms\", \"3s\"";
	case MRC_CTL_UNIT_RATE:
		return "bits per second, or a string like \"400G\", \"2.5Gbps\"";
	case MRC_CTL_UNIT_SIZE:
		return "bytes, or a string like \"64KiB\", \"1MiB\", \"5GB\"";
	case MRC_CTL_UNIT_HEX:
		return "a whole number, or a string like \"0x1f00\"";
	case MRC_CTL_UNIT_RATIO:
		return "a number, or a string like \"1%\"";
	case MRC_CTL_UNIT_NONE:
		break;
	}
	return "a whole number without fraction, exponent or quotes";
}

int mrc_ctl_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return MRC_CTL_NO_DIGIT;
}

/* Digits of a base from *text on; at least one. Moves *text behind them. */
static int digits_parse(const char **text, int base, uint64_t *value_out, uint32_t *nb_out)
{
	uint64_t value = 0;
	uint32_t nb = 0;
	int d;

	while ((d = mrc_ctl_digit(**text)) < base) {
		if (value > (UINT64_MAX - (uint64_t)d) / (uint64_t)base)
			return MRC_ERR_TOOBIG;
		value = value * (uint64_t)base + (uint64_t)d;
		nb++;
		(*text)++;
	}
	*value_out = value;
	*nb_out = nb;
	return nb > 0 ? MRC_OK : MRC_ERR_INVAL;
}

static int hex_parse(const char *text, uint64_t *value_out)
{
	int base = 10, rc;
	uint64_t value;
	uint32_t nb;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	rc = digits_parse(&text, base, &value, &nb);
	if (rc != MRC_OK)
		return rc;
	if (*text != '\0')
		return MRC_ERR_INVAL;
	*value_out = value;
	return MRC_OK;
}

/* whole + frac / 10^nb_frac units of `factor`, when that is a whole number. */
static int scale(
	uint64_t whole, uint64_t frac, uint32_t nb_frac, uint64_t factor, uint64_t *value_out)
{
	unsigned __int128 total, part = (unsigned __int128)frac * factor;

	for (uint32_t i = 0; i < nb_frac; i++) {
		if (part % 10 != 0)
			return MRC_ERR_INVAL;
		part /= 10;
	}
	total = (unsigned __int128)whole * factor + part;
	if (total > UINT64_MAX)
		return MRC_ERR_TOOBIG;
	*value_out = (uint64_t)total;
	return MRC_OK;
}

int mrc_ctl_unit_parse(enum mrc_ctl_unit unit, const char *text, uint64_t *value_out)
{
	const struct unit_row *row = unit_rows(unit);
	uint64_t whole, frac = 0;
	uint32_t nb, nb_frac = 0;
	int rc;

	if (unit == MRC_CTL_UNIT_HEX)
		return hex_parse(text, value_out);
	if (row == NULL)
		return MRC_ERR_INVAL;
	rc = digits_parse(&text, 10, &whole, &nb);
	if (rc == MRC_OK && *text == '.') {
		text++;
		rc = digits_parse(&text, 10, &frac, &nb_frac);
	}
	if (rc != MRC_OK)
		return rc;
	if (*text == '\0')
		return scale(whole, frac, nb_frac, 1, value_out);
	if (*text == ' ')
		text++;
	for (; row->suffix != NULL; row++)
		if (strcmp(text, row->suffix) == 0)
			return scale(whole, frac, nb_frac, row->factor, value_out);
	return MRC_ERR_INVAL;
}
