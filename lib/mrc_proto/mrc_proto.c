/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "mrc_err.h"
#include "mrc_pkt.h"

bool mrc_gid_eq(const struct mrc_gid *a, const struct mrc_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool mrc_gid_is_v4(const struct mrc_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

void mrc_proto_default(struct mrc_proto *proto_out)
{
	*proto_out = (struct mrc_proto){
		.pkey = MRC_PKEY_DEFAULT,
		.check_pkey = true,
		.dscp = {[MRC_CLASS_NO_TRIM] = 0,
			[MRC_CLASS_TRIMMABLE] = 4,
			[MRC_CLASS_TRIMMABLE_RETX] = 8,
			[MRC_CLASS_TRIMMED] = 12,
			[MRC_CLASS_TRIMMED_LASTHOP] = 16,
			[MRC_CLASS_CONTROL] = 46},
	};
	mrc_choice_default(&proto_out->choice);
	(void)mrc_proto_init(proto_out);
}

/* The three classes of untrimmed data mean the same to a receiver. */
static bool is_data_class(enum mrc_class cls)
{
	return cls <= MRC_CLASS_TRIMMABLE_RETX;
}

/* spec */
static int classes_init(struct mrc_proto *proto)
{
	memset(proto->class_of_dscp, MRC_CLASS_OTHER, sizeof(proto->class_of_dscp));
	for (enum mrc_class cls = 0; cls < MRC_CLASS_OTHER; cls++) {
		uint8_t dscp = proto->dscp[cls];
		enum mrc_class taken;

		if (dscp > 63)
			return MRC_ERR_INVAL;
		taken = proto->class_of_dscp[dscp];
		if (taken == MRC_CLASS_OTHER)
			proto->class_of_dscp[dscp] = (uint8_t)cls;
		else if (!is_data_class(cls) || !is_data_class(taken))
			return MRC_ERR_INVAL;
	}
	return MRC_OK;
}

int mrc_proto_init(struct mrc_proto *proto)
{
	for (const struct mrc_choice_row *row = mrc_choice_rows(); row->name != NULL; row++) {
		uint32_t value;

		memcpy(&value, (const char *)&proto->choice + row->offset, sizeof(value));
		if (value < row->min || value > row->max)
			return MRC_ERR_INVAL;
	}
	return classes_init(proto);
}
