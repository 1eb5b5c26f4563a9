/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario.h - a scenario file as structs: fabric, endpoints, paths, workload, faults, what to
 * expect. Decoded strictly; doc/man/mrc-sim.1.scd describes every key.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "ctl_decode.h"
#include "ctl_fault.h"
#include "mrc_fabric.h"
#include "mrc_load.h"
#include "mrc_pattern.h"

enum {
	SIM_TEXT = 256,
	SIM_MAX_LINKS = 64,
	SIM_MAX_FAULTS = 256,
	SIM_MAX_PAUSES = 32,
	SIM_MAX_HANDOVERS = 32,
	SIM_MAX_STORM = 64, /* random faults at a time */
	SIM_MAX_EXPECT = 64,
};

/* A length that may follow from the bandwidth-delay product: not given = SIM_AUTO. */
#define SIM_AUTO       UINT32_MAX
#define SIM_EVERY_HOST UINT32_MAX

struct sim_link {
	struct mrc_fabric_where where;
	bool has_rate, has_delay, has_trim, has_drop, has_ecn_min, has_ecn_max;
	uint64_t rate_bps, delay_ns;
	uint32_t trim_len, drop_len, ecn_min_len, ecn_max_len;
};

struct sim_fabric {
	uint32_t planes, leaves, spines, hosts_per_leaf;
	uint64_t rate_bps, uplink_rate_bps; /* uplink 0: the same */
	uint64_t delay_ns, switch_ns;
	bool cut_through, reroute;
	int64_t overhead_len;
	enum mrc_fabric_forward forward;
	uint32_t stev_shift, stev_width;
	bool srv6_decap;
	bool ecn, ecn_last_hop, trim;
	uint32_t ecn_min_len, ecn_max_len, trim_len, trim_last_len, drop_len, ctrl_len;
	uint32_t trim_size;
	enum mrc_fabric_trim_who trim_who;
	bool trim_keep_lengths;
	uint32_t max_packets; /* 0: by the number of hosts */
	uint32_t nb_links;
	struct sim_link links[SIM_MAX_LINKS];
};

struct sim_host_cfg {
	uint32_t workers;
	bool v4;
	uint32_t pmtu;
	uint32_t mpr, wimm;
	uint32_t timeout, linear_cnt, exp_cnt;
	bool per_packet_timers, timestamps, trim_nack, dynamic_mpr, svc_time, strict_echo, probes;
	uint32_t nic_packets;  /* full-size frames that the ring of a port holds */
	uint32_t nacks_per_us; /* of one QP; SIM_AUTO: as many as packets fit into the ports */
};

#define SIM_EV_SKIPS UINT64_MAX

struct sim_ev {
	enum mrc_ev_mode mode;
	uint32_t count, spares; /* per peer, over all planes */
	uint32_t min_active;
	uint64_t skip_ns;                /* 0: the unloaded round trip */
	uint64_t skip_max_ns;            /* SIM_EV_SKIPS: MRC_EV_SKIPS times skip_ns */
	uint64_t probe_ns, probe_max_ns; /* 0: default */
	uint32_t revive;
};

struct sim_cc {
	bool on;
	enum mrc_nscc_algorithm algorithm;
	uint64_t rate_bps, base_rtt_ns; /* 0: of the fabric */
	uint32_t mtu;                   /* 0: of the packets */
	bool has_target, has_max_cwnd, has_qa;
	uint64_t target_ns, qa_threshold_ns;
	uint32_t max_cwnd;
	bool disable_qa;
};

enum sim_load_mode {
	SIM_FLOWS,  /* flows of the pattern, each from its start to its last acknowledgement */
	SIM_STEADY, /* the pattern's pairs, a closed loop of messages on each for the duration */
};

enum sim_transport {
	SIM_MRC,
	SIM_RC, /* go-back-N on one path */
};

struct sim_load {
	enum sim_load_mode mode;
	struct mrc_pattern_cfg pattern; /* sizes and list are filled in from below */
	struct mrc_dist sizes;
	struct mrc_pattern_flow *list;
	uint64_t nb_list;
	char flows_file[SIM_TEXT], sizes_file[SIM_TEXT]; /* where the lists came from; "": from here
							  */
	uint32_t qps, depth;
	uint32_t piece_len; /* largest message of a flow, message size in the steady mode */
	uint32_t imm_pct;
	enum mrc_load_verify verify;
	uint64_t warmup_ns; /* steady: goodput counts from here */
	uint64_t duration_ns;
	bool barrier;            /* a round begins when all of the one before has arrived */
	uint64_t background_bps; /* steady: the background flow's rate, 0: as fast as it can */
};

/* The baseline's own settings. */
struct sim_rc {
	uint64_t timeout_ns; /* after which everything unacknowledged is sent again */
	uint32_t window_len; /* bytes in flight per QP at most; 0: one and a half round trips' worth
			      */
	uint32_t ack_every;  /* packets between acknowledgements */
	bool ecn;            /* shrink the window by the share of marked packets, as DCTCP does */
};

/* A host does nothing for a while. */
struct sim_pause {
	uint32_t host;
	uint64_t at_ns, for_ns;
};

/* Packets between the workers of a host wait, or find no room. */
struct sim_handover {
	uint32_t host;          /* SIM_EVERY_HOST: of all */
	uint64_t at_ns, for_ns; /* for 0: to the end */
	uint64_t delay_ns;
	uint32_t depth; /* of a worker's ring: what comes on top is lost */
};

/* What a random fault is. */
enum sim_storm_kind {
	SIM_STORM_UPLINK,    /* a leaf-spine cable without carrier */
	SIM_STORM_PORT,      /* a host's port without carrier, one of a host at a time */
	SIM_STORM_LOSSY,     /* 1 to 20 % lost on a leaf-spine cable */
	SIM_STORM_GREY,      /* everything lost there, carrier up */
	SIM_STORM_CORRUPT,   /* 5 % damaged there */
	SIM_STORM_DUPLICATE, /* 5 % doubled there */
	SIM_STORM_REORDER,   /* 10 % held back there */
	SIM_STORM_TRIM,      /* 5 % trimmed there */
	SIM_NB_STORM_KINDS,
};
extern const char *const sim_storm_names[SIM_NB_STORM_KINDS];

struct sim_storm_cfg {
	uint64_t every_ns, length_ns; /* means; every 0: none */
	uint64_t at_ns, for_ns;       /* from here on, so long; for 0: to the end */
	uint32_t kinds;               /* bit per sim_storm_kind */
};

/* Queue pairs are destroyed and made anew while their packets are under way. */
struct sim_churn_cfg {
	uint64_t every_ns;      /* one connection each; 0: never */
	uint64_t at_ns, for_ns; /* from here on, so long; for 0: to the end */
	uint32_t lives;         /* that the numbers go through; 255: they come round again */
};

struct sim_expect {
	char value[96]; /* path into the result, "flows.fct_us.max" */
	bool has_min, has_max;
	double min, max;
	char text[SIM_TEXT];
};

struct sim_run {
	uint64_t limit_ns;  /* gives up here */
	uint64_t sample_ns; /* 0: no time series */
	uint32_t check_every;
	bool repair; /* measure how long lost packets are missing */
	bool waits;  /* count what queue pairs wait for */
};

struct scenario {
	char name[64];
	char text[SIM_TEXT];
	char not_yet[SIM_TEXT]; /* why it cannot pass today; "" = it can */
	uint64_t seed;
	enum sim_transport transport;
	struct sim_fabric fabric;
	struct sim_host_cfg host;
	struct sim_ev ev;
	struct sim_cc cc;
	struct mrc_proto proto;
	struct sim_load load;
	struct sim_rc rc;
	struct sim_run run;
	uint32_t nb_faults;
	struct mrc_ctl_fault faults[SIM_MAX_FAULTS];
	uint32_t nb_pauses;
	struct sim_pause pauses[SIM_MAX_PAUSES];
	uint32_t nb_handovers;
	struct sim_handover handovers[SIM_MAX_HANDOVERS];
	struct sim_churn_cfg churn;
	struct sim_storm_cfg storm;
	uint32_t nb_expect;
	struct sim_expect expect[SIM_MAX_EXPECT];
};

/*
 * Reads a scenario file, with "path=value" settings applied to its JSON first (value: JSON, or a
 * string when it is none). Returns MRC_OK or an error and one line in *error_out.
 */
int scenario_read(const char *path, char *const *sets, uint32_t nb_sets,
	struct scenario **scenario_out, struct mrc_ctl_error *error_out);
void scenario_free(struct scenario *scenario);

uint32_t scenario_nb_hosts(const struct scenario *sc);
/* Unloaded round trip across a spine of a full packet and a control packet. */
uint64_t scenario_rtt_ns(const struct scenario *sc);
/* Bytes of a full packet on the wire, headers and overhead included. */
uint32_t scenario_packet_len(const struct scenario *sc);
/* The links of a class, without what "links" changes. */
void scenario_link(
	const struct scenario *sc, enum mrc_fabric_link_class cls, struct mrc_fabric_link_cfg *l);
/* Congestion control of every QP. */
void scenario_cc(const struct scenario *sc, struct mrc_nscc_cfg *cfg_out);

#endif
