/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - the start-up file of mrc-dp as structs, and its loader.
 *
 * Everything is decoded and checked before anything starts. A mistake ends in one line naming the
 * file, the key, the value and the remedy.
 */
#ifndef MRC_APP_CONFIG_H
#define MRC_APP_CONFIG_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl_fault.h"
#include "mrc_fabric.h"
#include "mrc_load.h"
#include "mrc_nscc.h"
#include "mrc_pkt.h"
#include "mrc_sched.h"
#include "place.h"
#include "reason.h"

#define MRC_CFG_TEXT         256
#define MRC_CFG_NAME         32
#define MRC_CFG_MAX_EAL      32
#define MRC_CFG_MAX_ENDPOINT 2
#define MRC_CFG_MAX_WORKERS  8
#define MRC_CFG_MAX_NEIGH    64
#define MRC_CFG_MAX_EVENTS   64
#define MRC_CFG_MAX_PATHS    64

/* What a plane's port is. */
enum mrc_cfg_link {
	MRC_LINK_DEVICE, /* a DPDK device: vdev or PCI */
	MRC_LINK_FABRIC, /* ring port to the embedded fabric */
	MRC_LINK_DIRECT, /* ring port to the same plane of the other endpoint */
};

struct mrc_cfg_plane {
	char device[MRC_CFG_TEXT]; /* "fabric", "direct", "net_memif0,role=server,..." or a PCI name
				    */
	enum mrc_cfg_link link;
	bool is_pci;
	bool mac_set;
	uint8_t mac[6];
	bool vlan_set;
	uint32_t vlan;                           /* identifier 0..4094 */
	uint32_t vlan_prio;                      /* 0..7 */
	uint32_t mtu;                            /* IP packet size; 0 = what the PMTU needs */
	uint32_t descriptors;                    /* per queue; 0 = default */
	uint32_t nb_paths;                       /* SRv6 */
	struct mrc_gid paths[MRC_CFG_MAX_PATHS]; /* outer destinations (uSID lists) to the peer */
	char capture[MRC_CFG_TEXT]; /* pcap file that receives every frame of the port; "" = none */
};

struct mrc_cfg_neighbour {
	struct mrc_gid address;
	uint32_t plane;
	uint8_t mac[6];
};

struct mrc_cfg_endpoint {
	char name[MRC_CFG_NAME];
	struct mrc_gid address;
	uint32_t nb_workers;
	int32_t lcores[MRC_CFG_MAX_WORKERS]; /* demanded lcore per worker or -1 */
	uint32_t nb_lcores;
	uint32_t nb_planes;
	struct mrc_cfg_plane planes[MRC_MAX_PLANES];
	uint32_t nb_neighbours;
	struct mrc_cfg_neighbour neighbours[MRC_CFG_MAX_NEIGH];
};

enum mrc_cfg_huge {
	MRC_HUGE_NO,
	MRC_HUGE_AUTO, /* when enough are free */
	MRC_HUGE_YES
};

/* Who drives the workload. */
enum mrc_cfg_role {
	MRC_CFG_REQUESTER,
	MRC_CFG_RESPONDER
};

struct mrc_cfg_ev {
	enum mrc_ev_mode mode;
	uint32_t nb_per_plane;         /* entropy values per plane, spares included */
	uint32_t nb_active;            /* of them in use per plane; 0 = all */
	uint32_t min_active;           /* of the whole set; 0 = default */
	uint64_t skip_ns, skip_max_ns; /* as in struct mrc_ev_cfg */
	uint64_t probe_ns, probe_max_ns;
	uint32_t revive_count;
};

struct mrc_cfg_cc {
	uint64_t rate_bps;    /* of the whole endpoint, for the defaults below */
	uint64_t base_rtt_ns; /* unloaded round trip, likewise */
	bool trimming;        /* switches trim */
	struct mrc_nscc_cfg nscc;
	bool resolved; /* nscc holds the defaults of rate, RTT and MTU, and then the file's values
			*/
};

struct mrc_cfg_qp {
	uint32_t mpr; /* receive window granted, units of 128 PSNs */
	uint32_t ttl;
	uint32_t timeout; /* exponent */
	uint32_t linear_cnt, exp_cnt;
	bool per_packet_timers;
};

struct mrc_cfg_fabric {
	bool present;
	uint32_t leaves, spines, hosts_per_leaf;
	uint64_t rate_bps, delay_ns, switch_ns;
	enum mrc_fabric_forward forward;
	bool srv6_decap;
	struct mrc_fabric_queues queues;
	uint64_t seed; /* 0 = random */
	uint32_t max_packets;
	int32_t lcore;
	uint32_t nb_faults;
	struct mrc_ctl_fault faults[MRC_CFG_MAX_EVENTS]; /* counted from the workload's begin */
};

enum mrc_cfg_oob_mode {
	MRC_OOB_NONE,
	MRC_OOB_LISTEN,
	MRC_OOB_CONNECT
};

struct mrc_cfg_oob {
	enum mrc_cfg_oob_mode mode;
	char address[MRC_CFG_TEXT]; /* unix:/path or tcp:host:port */
	uint64_t wait_ns;           /* how long to wait for the peer */
};

struct mrc_cfg_workload {
	enum mrc_cfg_role role; /* of the endpoint, with "oob" */
	uint32_t nb_qps;        /* over all workers */
	uint64_t msg_len;
	uint64_t nb_msgs;         /* over all QPs; 0 = by time */
	uint64_t duration_ns;     /* 0 = by count */
	uint32_t depth;           /* messages outstanding per QP (closed loop) */
	uint64_t rate_bps;        /* open loop: payload of all QPs; 0 = closed loop */
	uint32_t pacing;          /* enum mrc_load_pacing, derived from rate_bps and poisson */
	bool poisson;             /* open loop with random gaps */
	bool bidirectional;       /* both sides send and receive */
	uint32_t imm_pct;         /* share of writes with immediate, 0 .. 100 */
	uint32_t nb_slots;        /* target places per QP; 0 = depth and a quarter */
	uint32_t verify;          /* enum mrc_load_verify */
	uint64_t seed;            /* of the pattern */
	char file[MRC_CFG_TEXT];  /* source file; "" = pattern */
	char store[MRC_CFG_TEXT]; /* where the far end writes the file; "" = only summed */
	uint64_t drain_ns;        /* how long unfinished work may go on after the end */
};

/* Rules of the engine that no peer has to know. */
struct mrc_cfg_engine {
	uint32_t
		access_errors; /* access violations until the QP fails; 1 as the protocol demands */
	uint32_t
		parked_imms; /* immediates of a worker that may wait for earlier packets; 0 = any */
	bool back_pressure;  /* tell peers that receive buffers run short */
	bool probes;         /* send reliability probes */
	bool loss_by_distance; /* for fabrics where an EV does not pin a path */
};

struct mrc_cfg {
	char eal[MRC_CFG_MAX_EAL][MRC_CFG_TEXT];
	uint32_t nb_eal;
	char lcores[MRC_CFG_TEXT]; /* "" = all CPUs of the process */
	uint32_t memory_mib;
	uint32_t hugepages; /* enum mrc_cfg_huge */
	uint32_t pmtu;
	bool icrc, timestamps, strict_echo;
	struct mrc_proto proto;
	struct mrc_cfg_ev ev;
	struct mrc_cfg_cc cc;
	struct mrc_cfg_qp qp;
	struct mrc_cfg_engine engine;
	uint32_t nb_endpoints;
	struct mrc_cfg_endpoint endpoints[MRC_CFG_MAX_ENDPOINT];
	struct mrc_cfg_fabric fabric;
	struct mrc_cfg_workload workload;
	struct mrc_cfg_oob oob;
	int32_t mgmt_lcore;
	uint32_t window_psns, sent_psns; /* budgets per worker; 0 = from the number of QPs */
};

/*
 * Reads and checks a file; *cfg_out is written only on success. error_out (MRC_REASON bytes)
 * receives the one line. Errors: MRC_ERR_INVAL, MRC_ERR_NOMEM.
 */
int mrc_cfg_load(const char *path, struct mrc_cfg *cfg_out, char *error_out);
/* The same for text in memory; `source` names it in the error. */
int mrc_cfg_parse(
	const char *source, const char *text, size_t len, struct mrc_cfg *cfg_out, char *error_out);

/* IP packet size that the PMTU needs at most (SRv6, timestamp, immediate, pad and ICRC counted). */
uint32_t mrc_cfg_mtu_needed(const struct mrc_cfg *cfg);
/* Frame size of an af_packet ring whose device string names none. */
uint32_t mrc_cfg_ring_frame_len(const struct mrc_cfg *cfg);
/* Bytes of a packet buffer behind its headroom: what frames and the devices' rings need. */
uint32_t mrc_cfg_buf_len(const struct mrc_cfg *cfg);

#endif
