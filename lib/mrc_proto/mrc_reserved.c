/* SPDX-License-Identifier: BSD-2-Clause */
#include "mrc_reserved.h"
#include "mrc_wire.h"

/* One byte of mask per byte of header; the comments name what stands in the gaps. */
static const uint8_t bth_mask[MRC_BTH_LEN] = {[8] = 0x4F};
static const uint8_t seth_mask[MRC_SETH_LEN + MRC_CC_STATE_LEN] = {
	[0] = 0xFF,
	[1] = 0x9D,               /* M, pr */
	[12] = 0xFF,              /* spdcid, dpdcid before; cack behind */
	[MRC_SETH_LEN + 2] = 0x80 /* ooo_count */
};
static const uint8_t neth_mask[MRC_NETH_LEN] = {[0] = 0xFF, [1] = 0xFF, [12] = 0xFF, [17] = 0xFF};
static const uint8_t peth_mask[MRC_PETH_LEN] = {
	[0] = 0xFF, [1] = 0xFF, [2] = 0xFF, [6] = 0xFF, [7] = 0xFF, [14] = 0x7F, [15] = 0xF0};
static const uint8_t erth_mask[MRC_ERTH_LEN] = {[0] = 0xFF,
	[1] = 0xFC, /* op */
	[2] = 0xFF,
	[8] = 0xFF,
	[9] = 0xFF,
	[10] = 0xFF,
	[11] = 0xFF,
	[14] = 0x7F, /* tsr, ftype */
	[15] = 0xF0};
static const uint8_t tseth_mask[MRC_TSETH_LEN] = {[2] = 0x7F, [3] = 0xF0};

static bool any_set(const uint8_t *p, const uint8_t *mask, uint32_t len)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < len; i++)
		found |= p[i] & mask[i];
	return found != 0;
}

/* EETH is all reserved but the operation, whose place is a setting (O-6), and the timestamp. */
static bool eeth_set(const struct mrc_choice *choice, const uint8_t *p)
{
	uint32_t found = get16(p) & ~(3u << choice->eeth_op_shift);

	for (uint32_t i = 2; i < MRC_EETH_LEN; i++)
		found |= i == 28 || i == 29 ? 0 : p[i];
	return found != 0;
}

/* Port status mask and request number have parts that only some operations use. */
static bool ep_set(const struct mrc_pkt *pkt, const uint8_t *ext)
{
	if (pkt->psn.v >> 16 != 0)
		return true;
	return pkt->opcode == MRC_OP_EP_REQ && pkt->ep.op != MRC_EP_PORT_STATUS &&
	       get32(ext + 4) != 0;
}

/* spec */
bool mrc_reserved_set(
	const struct mrc_choice *choice, const struct mrc_pkt *pkt, const uint8_t *frame)
{
	const uint8_t *bth = frame + pkt->bth_off;
	const uint8_t *ext = bth + MRC_BTH_LEN;
	uint32_t flags = mrc_opcode_table[pkt->opcode].flags;

	if (any_set(bth, bth_mask, MRC_BTH_LEN))
		return true;
	if (flags & MRC_OPF_WRITE)
		return bth[8] & 0x10 && any_set(ext + MRC_METH_LEN, tseth_mask, MRC_TSETH_LEN);
	if (flags & MRC_OPF_SETH)
		return any_set(ext, seth_mask, sizeof(seth_mask));
	if (flags & MRC_OPF_NETH)
		return any_set(ext, neth_mask, sizeof(neth_mask));
	if (flags & MRC_OPF_PETH)
		return any_set(ext, peth_mask, sizeof(peth_mask));
	if (flags & MRC_OPF_ERTH)
		return any_set(ext, erth_mask, sizeof(erth_mask)) || ep_set(pkt, ext);
	if (flags & MRC_OPF_EETH)
		return eeth_set(choice, ext) || ep_set(pkt, ext);
	return false;
}
