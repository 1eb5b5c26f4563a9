/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor.h - looks at the machine before mrc-dp runs on it: processors, hugepages, ports, MTU,
 * rights, stale sockets. Each finding says OK, WARN or FAIL and the command that mends it.
 *
 * Uses no DPDK and starts nothing: it works where mrc-dp itself does not.
 */
#ifndef MRC_APP_DOCTOR_H
#define MRC_APP_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#define MRC_DOCTOR_LINES   96
#define MRC_DOCTOR_TEXT    320
#define MRC_DOCTOR_DEVICES 64
#define MRC_DOCTOR_SOCKETS 8
#define MRC_DOCTOR_CPUS    1024

enum mrc_doctor_verdict {
	MRC_DOCTOR_OK,
	MRC_DOCTOR_WARN, /* works, but slower or less safely than it could */
	MRC_DOCTOR_FAIL, /* mrc-dp will not start or not work */
};

struct mrc_doctor_line {
	enum mrc_doctor_verdict verdict;
	const char *topic;          /* one word */
	char text[MRC_DOCTOR_TEXT]; /* what was found */
	char mend[MRC_DOCTOR_TEXT]; /* a command, or "" */
};

struct mrc_doctor_report {
	uint32_t nb;
	struct mrc_doctor_line lines[MRC_DOCTOR_LINES];
};

struct mrc_cpuset {
	uint64_t words[MRC_DOCTOR_CPUS / 64];
};

/* What a process can know of its host. Tests fill it by hand. */
struct mrc_doctor_host {
	const char *root;       /* in front of /proc, /sys and /dev; "" for this machine */
	struct mrc_cpuset cpus; /* that the process may use */
	bool is_root;
	uint64_t caps;        /* effective capabilities, bit = CAP_* */
	uint64_t memlock_len; /* bytes; UINT64_MAX = no limit */
	uint32_t sample_ms;   /* how long to watch the load of the CPUs; 0 = do not */
};

enum mrc_doctor_huge {
	MRC_DOCTOR_HUGE_NO,   /* not used */
	MRC_DOCTOR_HUGE_AUTO, /* used when there are enough */
	MRC_DOCTOR_HUGE_YES,  /* demanded */
};

/* What is going to run. Strings are the caller's. */
struct mrc_doctor_want {
	const char *lcores; /* DPDK's -l or --lcores value; NULL = all CPUs of the process */
	uint32_t nb_busy;   /* threads that poll all the time */
	uint32_t memory_mib;
	enum mrc_doctor_huge huge;
	uint32_t mtu; /* IP packet size that must pass every port; 0 = unknown */
	const char *devices[MRC_DOCTOR_DEVICES]; /* vdev strings and PCI names */
	uint32_t nb_devices;
	const char *sockets[MRC_DOCTOR_SOCKETS]; /* paths that mrc-dp will listen on */
	uint32_t nb_sockets;
};

void mrc_doctor_host_read(struct mrc_doctor_host *host_out);
void mrc_doctor_run(const struct mrc_doctor_host *host, const struct mrc_doctor_want *want,
	struct mrc_doctor_report *report_out);
enum mrc_doctor_verdict mrc_doctor_worst(const struct mrc_doctor_report *report);
const char *mrc_doctor_verdict_name(enum mrc_doctor_verdict verdict);

/* The command: mrc-dp doctor [-c FILE] [--json]. argv[0] is "doctor". Returns the exit code: 0 when
 * nothing failed, 1 when something did, 2 for wrong usage. */
int mrc_doctor_main(int argc, char **argv);

#endif
