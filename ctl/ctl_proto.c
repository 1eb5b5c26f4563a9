/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl_proto.h"

#include "mrc_choice.h"

#define CHOICE_ROW(id, name, def, lo, hi, text)                                                    \
	MRC_CTL_UINT(#name, struct mrc_choice, name, lo, hi),
static const struct mrc_ctl_field choice_fields[] = {MRC_CHOICE_LIST(CHOICE_ROW) MRC_CTL_END};
static const struct mrc_ctl_table choice_table = {choice_fields, sizeof(struct mrc_choice), NULL};

#define DSCP_ROW(k, cls)                                                                           \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_UINT,                                             \
		.offset = offsetof(struct mrc_proto, dscp) + (cls), .size = 1, .max = 63           \
	}
static const struct mrc_ctl_field dscp_fields[] = {
	DSCP_ROW("no_trim", MRC_CLASS_NO_TRIM),
	DSCP_ROW("trimmable", MRC_CLASS_TRIMMABLE),
	DSCP_ROW("trimmable_retx", MRC_CLASS_TRIMMABLE_RETX),
	DSCP_ROW("control", MRC_CLASS_CONTROL),
	DSCP_ROW("trimmed", MRC_CLASS_TRIMMED),
	DSCP_ROW("trimmed_lasthop", MRC_CLASS_TRIMMED_LASTHOP),
	MRC_CTL_END,
};
static const struct mrc_ctl_table dscp_table = {dscp_fields, sizeof(struct mrc_proto), NULL};

static int proto_check(struct mrc_ctl_ctx *ctx, void *obj)
{
	if (mrc_proto_init(obj) != MRC_OK)
		return mrc_ctl_fail_key(ctx, "dscp",
			"two classes of different meaning share a DSCP; only no_trim, trimmable "
			"and "
			"trimmable_retx may");
	return MRC_OK;
}

static const struct mrc_ctl_field proto_fields[] = {
	MRC_CTL_OBJECT("choices", struct mrc_proto, choice, &choice_table),
	{.key = "dscp",
		.type = MRC_CTL_TYPE_OBJECT,
		.offset = 0,
		.size = sizeof(struct mrc_proto),
		.table = &dscp_table},
	MRC_CTL_UINT("pkey", struct mrc_proto, pkey, 1, 65535),
	MRC_CTL_BOOL("check_pkey", struct mrc_proto, check_pkey),
	MRC_CTL_END,
};
const struct mrc_ctl_table mrc_ctl_proto_table = {
	proto_fields, sizeof(struct mrc_proto), proto_check};
