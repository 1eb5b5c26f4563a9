/* SPDX-License-Identifier: BSD-2-Clause */
#include "courier.h"

#include "mrc_assert.h"

/* The later of the two makes the earlier one void. */
static bool same_matter(const struct mrc_cmd *a, const struct mrc_cmd *b)
{
	return a->kind == b->kind && a->plane == b->plane && a->load == b->load &&
	       mrc_gid_eq(&a->gid, &b->gid);
}

static void keep(struct mrc_courier *courier, struct mrc_worker *worker, const struct mrc_cmd *cmd)
{
	courier->late++;
	for (uint32_t i = 0; i < courier->nb; i++)
		if (courier->waiting[i].worker == worker &&
			same_matter(&courier->waiting[i].cmd, cmd)) {
			courier->waiting[i].cmd = *cmd;
			return;
		}
	MRC_ASSERT(courier->nb < MRC_COURIER_ROOM);
	courier->waiting[courier->nb].worker = worker;
	courier->waiting[courier->nb++].cmd = *cmd;
}

static bool waits_for(
	const struct mrc_courier *courier, uint32_t nb, const struct mrc_worker *worker)
{
	for (uint32_t i = 0; i < nb; i++)
		if (courier->waiting[i].worker == worker)
			return true;
	return false;
}

void mrc_courier_send(
	struct mrc_courier *courier, struct mrc_worker *worker, const struct mrc_cmd *cmd)
{
	if (waits_for(courier, courier->nb, worker) || mrc_worker_command(worker, cmd) != MRC_OK)
		keep(courier, worker, cmd);
}

bool mrc_courier_flush(struct mrc_courier *courier)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < courier->nb; i++)
		if (waits_for(courier, kept, courier->waiting[i].worker) ||
			mrc_worker_command(courier->waiting[i].worker, &courier->waiting[i].cmd) !=
				MRC_OK)
			courier->waiting[kept++] = courier->waiting[i];
	courier->nb = kept;
	return kept == 0;
}
