/* SPDX-License-Identifier: BSD-2-Clause */
#include "reason.h"

#include <stdarg.h>
#include <stdio.h>

int mrc_refuse(char *reason_out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason_out, MRC_REASON, fmt, args);
	va_end(args);
	return MRC_ERR_INVAL;
}
