/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "mrc_choice.h"

#define ROW(id, name, def, min, max, text)                                                         \
	{#name, text, id, def, min, max, offsetof(struct mrc_choice, name)},
static const struct mrc_choice_row rows[] = {MRC_CHOICE_LIST(ROW){NULL, NULL, 0, 0, 0, 0, 0}};
#undef ROW

const struct mrc_choice_row *mrc_choice_rows(void)
{
	return rows;
}

#define SET(id, name, def, min, max, text) .name = def,
void mrc_choice_default(struct mrc_choice *choice_out)
{
	*choice_out = (struct mrc_choice){MRC_CHOICE_LIST(SET)};
}
#undef SET
