/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault_rig.h - a fabric of two leaves and two spines, links of 100 Gb/s and 1 us, and one fault at
 * a time; packets of 1250 bytes, 100 ns on each link.
 */
#ifndef FAULT_RIG_H
#define FAULT_RIG_H

#include "fabric_kit.h"

enum {
	HEAD = 82,
	PAYLOAD = 1250 - HEAD,
};

struct fault_rig {
	struct kit kit;
	struct mrc_fabric_cfg cfg;
	struct mrc_fabric_fault fault; /* the next one to add: everywhere, uplinks of hosts */
	uint32_t handle;               /* of the last one added */
};

/* change: what is other than said above, or NULL. */
void fault_rig_open(struct fault_rig *rig, void (*change)(struct mrc_fabric_cfg *cfg));
void fault_rig_add(struct fault_rig *rig, enum mrc_fabric_fault_kind kind, uint64_t now_ns);
/* n packets from host 0 to host 1, 100 ns apart, PSN = number. */
void fault_rig_send(struct fault_rig *rig, uint64_t now_ns, uint32_t n);
/* Reads what is left and closes. */
void fault_rig_finish(struct fault_rig *rig);

#endif
