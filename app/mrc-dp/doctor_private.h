/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_private.h - shared by the checks. */
#ifndef MRC_APP_DOCTOR_PRIVATE_H
#define MRC_APP_DOCTOR_PRIVATE_H

#include "doctor.h"

/* One examination in progress. */
struct doctor {
	const struct mrc_doctor_host *host;
	const struct mrc_doctor_want *want;
	struct mrc_doctor_report *report;
};

/* Adds a line; mend_fmt may be NULL. Lines behind the last place are lost. */
void mrc_doctor_add(struct doctor *doc, enum mrc_doctor_verdict verdict, const char *topic,
	const char *mend, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* ---- the host's files, all below host->root */

/* First bytes of a file without the last newline; false when it cannot be read. */
bool mrc_doctor_file(const struct doctor *doc, char *out, uint32_t room, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A file that holds a number. */
bool mrc_doctor_number(const struct doctor *doc, uint64_t *value_out, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool mrc_doctor_exists(const struct doctor *doc, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool mrc_doctor_writable(const struct doctor *doc, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Last component of a symbolic link's target; false when there is none. */
bool mrc_doctor_link(const struct doctor *doc, char *out, uint32_t room, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- CPU sets */

bool mrc_cpuset_has(const struct mrc_cpuset *set, uint32_t cpu);
void mrc_cpuset_add(struct mrc_cpuset *set, uint32_t cpu);
uint32_t mrc_cpuset_count(const struct mrc_cpuset *set);
/* "0-3,8"; false when the text is no such list. */
bool mrc_cpuset_parse(struct mrc_cpuset *set_out, const char *text);
/* The inverse; out is always ended. */
void mrc_cpuset_show(const struct mrc_cpuset *set, char *out, uint32_t room);

struct mrc_lcore_map {
	uint32_t nb;
	struct {
		uint32_t id;
		struct mrc_cpuset cpus;
	} lcores[128];
};

/* DPDK's -l and --lcores: "0-3", "2@0,1@1", "(0,2)@(1-3)". False when it is no such list. */
bool mrc_lcore_map_parse(struct mrc_lcore_map *map_out, const char *text);

/* ---- the checks */

void mrc_doctor_cpu(struct doctor *doc);
void mrc_doctor_memory(struct doctor *doc);
void mrc_doctor_ports(struct doctor *doc);
void mrc_doctor_rights(struct doctor *doc);
/* A path that is going to be bound: too long, stale, alive, or in a directory that does not allow
 * it. */
void mrc_doctor_socket(struct doctor *doc, const char *topic, const char *path);

#endif
