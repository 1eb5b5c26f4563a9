/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "mrc_err.h"

#define ROW(name, value, text) {name, #name, text},
static const struct {
	int err;
	const char *name;
	const char *text;
} rows[] = {{MRC_OK, "MRC_OK", "success"}, MRC_ERR_LIST(ROW)};
#undef ROW

const char *mrc_err_name(int err)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].err == err)
			return rows[i].name;
	return "MRC_ERR_?";
}

const char *mrc_err_text(int err)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].err == err)
			return rows[i].text;
	return "unknown error code";
}
