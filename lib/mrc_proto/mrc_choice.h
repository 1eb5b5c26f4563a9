/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_choice.h - every point on which public readings of the specification disagree or are silent,
 * as one named setting with our default. doc/protocol.md gives the evidence and the reason for
 * each.
 *
 * X(id, name, default, min, max, text); all settings are uint32_t.
 */
#ifndef MRC_CHOICE_H
#define MRC_CHOICE_H

#include <stdint.h>

#define MRC_CHOICE_LIST(X)                                                                         \
	X(1, udp_port, 4791, 1, 65535, "UDP destination port sent and accepted")                   \
	X(1, udp_port_alt, 0, 0, 65535, "second UDP port accepted, 0 for none")                    \
	X(2, bth_se_first, 1, 0, 1, "BTH byte 1: SE is bit 7 and M bit 6 (0: the other order)")    \
	X(3, ev_label_is_high, 1, 0, 1, "flow label carries EV bits 31-16 (0: bits 15-0)")         \
	X(4, ipv4_ev_high_half, 0, 0, 1, "over IPv4 the port carries EV bits 31-16 (0: 15-0)")     \
	X(5, pdcid_by_role, 1, 0, 1, "spdcid is the requestor's (0: the packet sender's)")         \
	X(6, eeth_op_shift, 2, 0, 14, "bit position of the operation in EETH")                     \
	X(7, nack_cc_type, 2, 0, 15, "cc_type sent in NETH")                                       \
	X(7, nack_cc_flags, 0, 0, 15, "cc_fl sent in NETH")                                        \
	X(8, oor_nack, 1, 0, 1, "PSN ahead of the window: NACK (0: silent drop)")                  \
	X(9, first_msn, 0, 0, 65535, "MSN of the first message")                                   \
	X(9, first_rqmsn, 0, 0, 65535, "RQMSN of the first write with immediate")                  \
	X(10, svc_time_shift, 1, 0, 1, "agreed service time moves the echoed timestamp forward")   \
	X(11, echo_without_ts, 0, 0, 65535, "timestamp echoed for a packet without TSETH")         \
	X(12, probe_mark_to_skip, 1, 0, 1, "probe answered SKIP_ONCE: EV to SKIP (0: GOOD)")       \
	X(13, tsr, 0, 0, 1, "timestamp resolution bit sent")                                       \
	X(14, port_mask_base, 1, 0, 1, "bit of port 1 in a port status mask: 1 (0: bit 0)")        \
	X(15, sack_gen_threshold, 16384, 1024, 1048576, "bytes between unsolicited SACKs")         \
	X(15, sack_gen_min_add, 1024, 0, 65536, "bytes each packet adds at least")                 \
	X(16, sack_base_align, 1, 1, 64, "bitmap base is a multiple of this (1: any)")             \
	X(17, strict_length, 0, 0, 1, "refuse zero-length messages at post")                       \
	X(18, timeout_cap_exp, 24, 0, 24, "back-off ends at 1.024 us x 2^this")                    \
	X(19, trim_min_len, 28, 28, 512, "least bytes from UDP on in a trimmed packet")            \
	X(20, srv6_icrc_inner, 1, 1, 1, "under SRv6 the ICRC covers the inner packet only")        \
	X(21, srv6_label_copy, 1, 0, 1, "under SRv6 the flow label is copied to the outer header") \
	X(22, always_skip_marks, 0, 0, 65535, "CE marks of one EV until ALWAYS_SKIP, 0: never")    \
	X(23, reverse_ev_echo, 0, 0, 1, "answers take the EV just received (0: own GOOD EVs)")     \
	X(24, probe_id_in_psn, 0, 0, 1, "repeat the probe id in BTH.psn")                          \
	X(25, vendor_info, 0, 0, 255, "vendor_info sent")                                          \
	X(26, reserved_check, 0, 0, 1, "refuse packets with reserved bits set")                    \
	X(27, sack_copies_rtx, 1, 0, 1, "SACK's rtx bit is that of its trigger")                   \
	X(28, ackreq_interval, 16, 1, 4096, "AckReq at least once in this many packets")

#define MRC_CHOICE_FIELD(id, name, def, min, max, text) uint32_t name; /* text */
struct mrc_choice {
	MRC_CHOICE_LIST(MRC_CHOICE_FIELD)
};
#undef MRC_CHOICE_FIELD

/* One row per setting, for configuration and documentation. */
struct mrc_choice_row {
	const char *name;
	const char *text;
	uint32_t id; /* number of the open point */
	uint32_t def, min, max;
	uint32_t offset; /* of the uint32_t in struct mrc_choice */
};

/* The table, ended by a row with name NULL. */
const struct mrc_choice_row *mrc_choice_rows(void);
/* Fills every setting with its default. */
void mrc_choice_default(struct mrc_choice *choice_out);

#endif
