/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_server.h - a service (ctl_rpc.h) on a UNIX stream socket: one JSON text per line, in both
 * directions.
 *
 * Nothing blocks: the owner polls from its own loop, and a poll does a bounded amount of work.
 * Every limit answers with an error object of its own (ctl_rpc.h): a request that is too long is
 * answered and skipped and the connection lives on; a client that is silent, does not read or came
 * too many is told so and closed. A client that closed its sending side still gets what is owed to
 * it.
 *
 * Root, the process's own user and members of the configured group may change; everybody else who
 * may connect may read. Credentials are those at connect time.
 *
 * One object belongs to one thread. Time is an argument.
 */
#ifndef CTL_SERVER_H
#define CTL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl_listen.h"
#include "ctl_rpc.h"

enum {
	MRC_CTL_CLIENTS_MAX = 64,
	MRC_CTL_OUTPUT_MAX = 1 << 20,
};

struct mrc_ctl_server_cfg {
	const char *path; /* of the socket */
	enum mrc_ctl_access access;
	bool has_group;                           /* members of gid may change */
	gid_t gid;                                /* also of the socket with MRC_CTL_ACCESS_GROUP */
	uint32_t max_clients;                     /* 1 .. MRC_CTL_CLIENTS_MAX */
	uint32_t max_request_len, max_output_len; /* bytes */
	uint64_t idle_ns;                         /* without a complete request */
	const struct mrc_rpc *rpc;                /* outlives the server */
};

struct mrc_ctl_server_counters {
	uint64_t accepted, refused; /* connections; refused: too many */
	uint64_t requests;          /* texts answered */
	uint64_t limits;            /* connections closed, or requests skipped, by a limit */
};

struct mrc_ctl_server;

/* Everything at its limit: 64 clients, 256 KiB, 1 MiB, 60 s, access by the owner. */
void mrc_ctl_server_cfg_default(struct mrc_ctl_server_cfg *cfg_out, const struct mrc_rpc *rpc);
/* Errors as mrc_ctl_listen_open, and MRC_ERR_NOMEM. reason_out: MRC_CTL_ERROR_LEN bytes. */
int mrc_ctl_server_open(
	const struct mrc_ctl_server_cfg *cfg, struct mrc_ctl_server **server_out, char *reason_out);
/* What is still to be sent is offered once to the kernel, then everything is closed and removed. */
void mrc_ctl_server_close(struct mrc_ctl_server *server);

/*
 * One turn: accepts at most one client, reads at most 16 KiB from each, answers at most 4 requests
 * in all, clients in turn. Returns how many requests it answered. Cost when idle: one poll(2).
 */
uint32_t mrc_ctl_server_poll(struct mrc_ctl_server *server, uint64_t now_ns);

uint32_t mrc_ctl_server_nb_clients(const struct mrc_ctl_server *server);
void mrc_ctl_server_counters_get(
	const struct mrc_ctl_server *server, struct mrc_ctl_server_counters *counters_out);

#endif
