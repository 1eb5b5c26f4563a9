/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault_rig.h"

void fault_rig_open(struct fault_rig *rig, void (*change)(struct mrc_fabric_cfg *cfg))
{
	memset(rig, 0, sizeof(*rig));
	kit_cfg(&rig->kit, &rig->cfg, 2, 2, 2);
	for (int c = 0; c < MRC_FABRIC_NB_CLASSES; c++)
		rig->cfg.links[c] =
			(struct mrc_fabric_link_cfg){.rate_bps = 100000000000u, .delay_ns = 1000};
	if (change != NULL)
		change(&rig->cfg);
	kit_create(&rig->kit, &rig->cfg);
	rig->fault.where = mrc_fabric_everywhere();
	rig->fault.where.classes = 1u << MRC_FABRIC_HOST_UP;
}

void fault_rig_add(struct fault_rig *rig, enum mrc_fabric_fault_kind kind, uint64_t now_ns)
{
	rig->fault.kind = kind;
	assert_int_equal(
		mrc_fabric_fault_add(rig->kit.fabric, now_ns, &rig->fault, &rig->handle), MRC_OK);
	assert_int_not_equal(rig->handle, 0);
}

void fault_rig_send(struct fault_rig *rig, uint64_t now_ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct kit_pkt what = {.dst = 1, .psn = i, .payload_len = PAYLOAD};

		kit_run(&rig->kit, now_ns + 100 * i);
		kit_send(&rig->kit, now_ns + 100 * i, 0, &what);
	}
}

void fault_rig_finish(struct fault_rig *rig)
{
	kit_drain(&rig->kit);
	kit_done(&rig->kit);
}
