/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "mrc_drop.h"

/* The list's names in lower case, which the preprocessor cannot make; the unit test compares. */
static const char *const names[MRC_NB_DROPS] = {
	[MRC_KEEP] = "none",
	[MRC_DROP_FRAME_SHORT] = "frame_short",
	[MRC_DROP_VLAN_STACKED] = "vlan_stacked",
	[MRC_DROP_VLAN_ID] = "vlan_id",
	[MRC_DROP_ETHERTYPE] = "ethertype",
	[MRC_DROP_IP_SHORT] = "ip_short",
	[MRC_DROP_IP_VERSION] = "ip_version",
	[MRC_DROP_IP_OPTIONS] = "ip_options",
	[MRC_DROP_IP_FRAGMENT] = "ip_fragment",
	[MRC_DROP_IP_CHECKSUM] = "ip_checksum",
	[MRC_DROP_IP_LENGTH] = "ip_length",
	[MRC_DROP_SRV6_BAD] = "srv6_bad",
	[MRC_DROP_NOT_UDP] = "not_udp",
	[MRC_DROP_UDP_SHORT] = "udp_short",
	[MRC_DROP_UDP_PORT] = "udp_port",
	[MRC_DROP_UDP_LENGTH] = "udp_length",
	[MRC_DROP_TRIM_SHORT] = "trim_short",
	[MRC_DROP_TRIM_OPCODE] = "trim_opcode",
	[MRC_DROP_BTH_SHORT] = "bth_short",
	[MRC_DROP_BTH_VERSION] = "bth_version",
	[MRC_DROP_BTH_OPCODE] = "bth_opcode",
	[MRC_DROP_BTH_PKEY] = "bth_pkey",
	[MRC_DROP_EXT_SHORT] = "ext_short",
	[MRC_DROP_EXT_FTYPE] = "ext_ftype",
	[MRC_DROP_EXT_RESERVED_M] = "ext_reserved_m",
	[MRC_DROP_EXT_RESERVED] = "ext_reserved",
	[MRC_DROP_PAD_BAD] = "pad_bad",
	[MRC_DROP_CONTROL_LENGTH] = "control_length",
	[MRC_DROP_QPN_RESERVED] = "qpn_reserved",
	[MRC_DROP_QPN_UNKNOWN] = "qpn_unknown",
	[MRC_DROP_QPN_GENERATION] = "qpn_generation",
	[MRC_DROP_QP_STATE] = "qp_state",
	[MRC_DROP_ADDR_SOURCE] = "addr_source",
	[MRC_DROP_ADDR_DEST] = "addr_dest",
	[MRC_DROP_ICRC] = "icrc",
	[MRC_DROP_PSN_AHEAD] = "psn_ahead",
	[MRC_DROP_PSN_STALE] = "psn_stale",
	[MRC_DROP_PSN_DUPLICATE] = "psn_duplicate",
	[MRC_DROP_TRIM_WINDOW] = "trim_window",
	[MRC_DROP_TRIM_LIMITED] = "trim_limited",
	[MRC_DROP_NO_BITMAP] = "no_bitmap",
	[MRC_DROP_NO_PKT_BUFFER] = "no_pkt_buffer",
	[MRC_DROP_NO_RESOURCE] = "no_resource",
	[MRC_DROP_LENGTH_MTU] = "length_mtu",
	[MRC_DROP_LENGTH_DMA] = "length_dma",
	[MRC_DROP_RKEY] = "rkey",
	[MRC_DROP_RKEY_PD] = "rkey_pd",
	[MRC_DROP_RKEY_BOUNDS] = "rkey_bounds",
	[MRC_DROP_RKEY_ACCESS] = "rkey_access",
	[MRC_DROP_WIMM_LIMIT] = "wimm_limit",
	[MRC_DROP_RQ_EMPTY] = "rq_empty",
	[MRC_DROP_CQ_OVERRUN] = "cq_overrun",
	[MRC_DROP_ACK_UNSENT] = "ack_unsent",
	[MRC_DROP_ACK_STALE] = "ack_stale",
	[MRC_DROP_ACK_SYNDROME] = "ack_syndrome",
	[MRC_DROP_ECHO_MISMATCH] = "echo_mismatch",
	[MRC_DROP_NACK_REASON] = "nack_reason",
	[MRC_DROP_PROBE_UNKNOWN] = "probe_unknown",
	[MRC_DROP_PROBE_LIMITED] = "probe_limited",
	[MRC_DROP_EP_PEER] = "ep_peer",
	[MRC_DROP_EP_OP] = "ep_op",
	[MRC_DROP_EP_RESPONSE] = "ep_response",
	[MRC_DROP_HANDOVER_FULL] = "handover_full",
};

#define TEXT(name, text) [MRC_DROP_##name] = text,
static const char *const texts[MRC_NB_DROPS] = {[MRC_KEEP] = "kept", MRC_DROP_LIST(TEXT)};
#undef TEXT

const char *mrc_drop_name(enum mrc_drop reason)
{
	return (size_t)reason < MRC_NB_DROPS ? names[reason] : "unknown";
}

const char *mrc_drop_text(enum mrc_drop reason)
{
	return (size_t)reason < MRC_NB_DROPS ? texts[reason] : "unknown drop reason";
}
