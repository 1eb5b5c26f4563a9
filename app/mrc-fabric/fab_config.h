/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fab_config.h - the start-up file of mrc-fabric as structs, and its loader. Everything is decoded
 * and checked before anything starts; a mistake ends in one line naming file, key, value and
 * remedy.
 */
#ifndef MRC_FAB_CONFIG_H
#define MRC_FAB_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctl_fault.h"
#include "ctl_listen.h"
#include "device.h"
#include "mrc_fabric.h"

#define MRC_FAB_MAX_HOSTS  64
#define MRC_FAB_MAX_ADDRS  4
#define MRC_FAB_MAX_LINKS  64
#define MRC_FAB_MAX_FAULTS 256
#define MRC_FAB_MAX_EAL    32
#define MRC_FAB_NAME       32
#define MRC_FAB_PATH       108

/* A host: where it sits, its addresses, and the device of each plane. */
struct mrc_fab_host {
	char name[MRC_FAB_NAME];
	int32_t host; /* number in the fabric; -1 in the file: the place in the list */
	uint32_t nb_addrs;
	struct mrc_gid addrs[MRC_FAB_MAX_ADDRS];
	uint32_t nb_ports;
	char ports[MRC_MAX_PLANES][MRC_DEVICE_TEXT]; /* "none": this plane has no port */
};

/* Parameters of some links that differ from the rest. */
struct mrc_fab_link {
	struct mrc_fabric_where where;
	bool has_rate, has_delay, has_queue;
	uint64_t rate_bps, delay_ns, queue_len;
};

struct mrc_fab_shape {
	uint32_t leaves, spines, hosts_per_leaf;
	uint64_t rate_bps, delay_ns, switch_ns;
	enum mrc_fabric_forward forward;
	bool reroute, cut_through;
	uint32_t stev_shift, stev_width; /* field of the EV that picks the uplink */
	uint32_t nb_srv6_blocks;         /* given; the rest as mrc_fabric_cfg_default */
	uint32_t srv6_blocks[MRC_MAX_PLANES];
	uint32_t srv6_leaf, srv6_spine, srv6_host; /* uSID of the first of each */
	bool srv6_decap;
	uint32_t trim_size;
	struct mrc_fabric_queues queues;
	uint64_t seed; /* 0 = random */
	uint32_t max_packets;
	uint32_t nb_links;
	struct mrc_fab_link links[MRC_FAB_MAX_LINKS];
};

/* What the loop does when nothing moves. */
enum mrc_fab_idle {
	MRC_FAB_IDLE_SPIN,  /* polls on: the lcore has a CPU of its own */
	MRC_FAB_IDLE_YIELD, /* offers the CPU to others */
	MRC_FAB_IDLE_SLEEP, /* sleeps for 20 us at a time */
};

struct mrc_fab_control {
	char path[MRC_FAB_PATH]; /* of the socket; "" = no control socket */
	enum mrc_ctl_access access;
	char group[MRC_FAB_NAME]; /* "" = none */
	gid_t gid;                /* of the group */
};

struct mrc_fab_cfg {
	char eal[MRC_FAB_MAX_EAL][MRC_DEVICE_TEXT];
	uint32_t nb_eal;
	char lcores[MRC_DEVICE_TEXT]; /* "" = EAL's choice; the first one runs the fabric */
	uint32_t memory_mib;
	bool hugepages;
	uint32_t mtu; /* largest IP packet that a host sends */
	uint32_t descriptors;
	enum mrc_fab_idle idle;
	struct mrc_proto proto;
	struct mrc_fab_shape fabric;
	uint32_t nb_hosts, nb_planes;
	struct mrc_fab_host hosts[MRC_FAB_MAX_HOSTS];
	uint32_t nb_faults;
	struct mrc_ctl_fault faults[MRC_FAB_MAX_FAULTS];
	struct mrc_fab_control control;
};

/*
 * Reads and checks a file; *cfg_out is written only on success. Errors: MRC_ERR_INVAL,
 * MRC_ERR_NOMEM; error_out holds the one line.
 */
int mrc_fab_cfg_load(
	const char *path, struct mrc_fab_cfg *cfg_out, struct mrc_ctl_error *error_out);

struct mrc_ctl_shape mrc_fab_cfg_shape(const struct mrc_fab_cfg *cfg);

/*
 * The fabric of the configuration, links with their own parameters included. seed: taken when the
 * file names none. Errors as mrc_fabric_create.
 */
int mrc_fab_cfg_fabric(const struct mrc_fab_cfg *cfg, const struct mrc_env *env,
	const struct mrc_fabric_ops *ops, uint64_t seed, struct mrc_fabric **fabric_out);

#endif
