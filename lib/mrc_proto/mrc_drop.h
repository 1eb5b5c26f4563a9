/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_drop.h - why a received packet was not used: one name, one counter, one test per reason.
 * 0 means "keep it". Reasons are in the order in which the checks are made.
 */
#ifndef MRC_DROP_H
#define MRC_DROP_H

/* X(name, text). Layers: frame, IP, UDP, BTH, extension headers, then identity, ICRC, window,
 * semantics. */
#define MRC_DROP_LIST(X)                                                                           \
	X(FRAME_SHORT, "frame shorter than its Ethernet header")                                   \
	X(VLAN_STACKED, "more than one VLAN tag")                                                  \
	X(VLAN_ID, "VLAN identifier is not the port's")                                            \
	X(ETHERTYPE, "neither IPv4 nor IPv6")                                                      \
	X(IP_SHORT, "IP header truncated")                                                         \
	X(IP_VERSION, "IP version does not fit the Ethernet type")                                 \
	X(IP_OPTIONS, "IPv4 options or unexpected IPv6 extension header")                          \
	X(IP_FRAGMENT, "fragment of an IP packet")                                                 \
	X(IP_CHECKSUM, "IPv4 header checksum wrong")                                               \
	X(IP_LENGTH, "IP length disagrees with the frame")                                         \
	X(SRV6_BAD, "SRv6 encapsulation malformed")                                                \
	X(NOT_UDP, "IP protocol is not UDP")                                                       \
	X(UDP_SHORT, "UDP header truncated")                                                       \
	X(UDP_PORT, "UDP destination port is not MRC's")                                           \
	X(UDP_LENGTH, "UDP length disagrees with the IP length")                                   \
	X(TRIM_SHORT, "trimmed packet too short to name its PSN")                                  \
	X(TRIM_OPCODE, "trimmed packet is not a write")                                            \
	X(BTH_SHORT, "BTH truncated")                                                              \
	X(BTH_VERSION, "transport version is not 0")                                               \
	X(BTH_OPCODE, "opcode is not MRC's")                                                       \
	X(BTH_PKEY, "partition key mismatch")                                                      \
	X(EXT_SHORT, "extension headers truncated")                                                \
	X(EXT_FTYPE, "timestamp extension has an unknown type")                                    \
	X(EXT_RESERVED_M, "SACK carries the reserved M value")                                     \
	X(EXT_RESERVED, "reserved bits set, and the setting reserved_check is on")                 \
	X(PAD_BAD, "pad count does not fit the payload or is set on a control packet")             \
	X(CONTROL_LENGTH, "control packet longer or shorter than its headers")                     \
	X(QPN_RESERVED, "reserved QP number, or endpoint operation not for QP 2")                  \
	X(QPN_UNKNOWN, "no such QP")                                                               \
	X(QPN_GENERATION, "packet for an earlier life of this QP number")                          \
	X(QP_STATE, "QP is not in a state that receives")                                          \
	X(ADDR_SOURCE, "source address is not the connected peer's")                               \
	X(ADDR_DEST, "destination address is not ours")                                            \
	X(ICRC, "invariant CRC wrong")                                                             \
	X(PSN_AHEAD, "PSN ahead of the receive window")                                            \
	X(PSN_STALE, "PSN half the number space away")                                             \
	X(PSN_DUPLICATE, "PSN already received")                                                   \
	X(TRIM_WINDOW, "trimmed packet outside the receive window or already received")            \
	X(TRIM_LIMITED, "trimmed packet above the rate at which NACKs are sent")                   \
	X(NO_BITMAP, "no receive map to hold the PSN")                                             \
	X(NO_PKT_BUFFER, "the host runs short of receive buffers")                                 \
	X(NO_RESOURCE, "a limit of the responder was reached")                                     \
	X(LENGTH_MTU, "payload length does not fit opcode and path MTU")                           \
	X(LENGTH_DMA, "payload exceeds the message's DMA length")                                  \
	X(RKEY, "remote key unknown")                                                              \
	X(RKEY_PD, "remote key belongs to another protection domain")                              \
	X(RKEY_BOUNDS, "remote address range outside the memory region")                           \
	X(RKEY_ACCESS, "memory region does not allow remote writes")                               \
	X(WIMM_LIMIT, "more immediates in flight than agreed")                                     \
	X(RQ_EMPTY, "no receive work request for an immediate")                                    \
	X(CQ_OVERRUN, "completion queue full")                                                     \
	X(ACK_UNSENT, "acknowledges a PSN that was never sent")                                    \
	X(ACK_STALE, "acknowledges nothing that is outstanding")                                   \
	X(ACK_SYNDROME, "AETH syndrome unknown")                                                   \
	X(ECHO_MISMATCH, "echoed entropy or timestamp is not what was sent")                       \
	X(NACK_REASON, "NACK reason unknown")                                                      \
	X(PROBE_UNKNOWN, "answer to a probe that is not outstanding")                              \
	X(PROBE_LIMITED, "probe above the rate at which probes are answered")                      \
	X(EP_PEER, "endpoint operation from a stranger")                                           \
	X(EP_OP, "endpoint operation unknown")                                                     \
	X(EP_RESPONSE, "endpoint response that nobody waits for")                                  \
	X(HANDOVER_FULL, "handover queue of the owning worker full")

#define MRC_DROP_ENUM(name, text) MRC_DROP_##name,
enum mrc_drop {
	MRC_KEEP = 0,
	MRC_DROP_LIST(MRC_DROP_ENUM) MRC_NB_DROPS
};
#undef MRC_DROP_ENUM

/* Lower-case name as used in counters and JSON ("icrc", "psn_ahead"); "none" for MRC_KEEP. Never
 * NULL. */
const char *mrc_drop_name(enum mrc_drop reason);
/* One line for a person. Never NULL. */
const char *mrc_drop_text(enum mrc_drop reason);

#endif
