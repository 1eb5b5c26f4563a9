/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_rpc.h - JSON-RPC 2.0 over a table of methods: one text in, one text out. No socket, no clock.
 *
 * A method is a row: its name, the decoder table of its parameters, what it may be called by and
 * when, its handler. Parameters are one object (or left out); they are decoded and checked as a
 * whole before the handler sees them. The first call of a connection is "hello" with the protocol
 * version; nothing else is answered before. Up to MRC_RPC_BATCH_MAX calls may come as a batch.
 */
#ifndef CTL_RPC_H
#define CTL_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "ctl_decode.h"

enum {
	MRC_RPC_VERSION = 1,
	MRC_RPC_BATCH_MAX = 64,
	MRC_RPC_TEXT_LEN = MRC_CTL_ERROR_LEN, /* of an error's message with its NUL */
};

/* Codes of error objects; the first five are JSON-RPC's. X(name, code, text) */
#define MRC_RPC_LIST(X)                                                                            \
	X(PARSE, -32700, "not JSON")                                                               \
	X(REQUEST, -32600, "no JSON-RPC 2.0 request")                                              \
	X(METHOD, -32601, "no such method")                                                        \
	X(PARAMS, -32602, "parameters refused")                                                    \
	X(INTERNAL, -32603, "out of memory")                                                       \
	X(HELLO, -32001, "the first call must be \"hello\" with a known version")                  \
	X(DENIED, -32002, "only root, the process's user and the configured group may change")     \
	X(STATE, -32003, "not allowed in this state")                                              \
	X(NOENT, -32004, "no such object")                                                         \
	X(FULL, -32005, "a table is full")                                                         \
	X(TOO_LONG, -32010, "request longer than the limit")                                       \
	X(TOO_DEEP, -32011, "request nested too deep or of too many values")                       \
	X(BATCH, -32012, "too many calls in a batch")                                              \
	X(CLIENTS, -32013, "too many clients")                                                     \
	X(IDLE, -32014, "silent for too long")                                                     \
	X(OUTPUT, -32015, "answers are not read")

#define MRC_RPC_ENUM(name, code, text) MRC_RPC_##name = (code),
enum mrc_rpc_code {
	MRC_RPC_GOOD = 0,
	MRC_RPC_LIST(MRC_RPC_ENUM)
};
#undef MRC_RPC_ENUM

/* The text of a code; "?" for any other number. */
const char *mrc_rpc_code_text(int code);

/* What a handler fills in. */
struct mrc_rpc_reply {
	json_t *result; /* new reference, for success */
	int code;       /* enum mrc_rpc_code */
	char text[MRC_RPC_TEXT_LEN];
};

/* Notes an error (printf-like) and returns `code`, for `return mrc_rpc_fail(...)`. */
int mrc_rpc_fail(struct mrc_rpc_reply *reply, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

enum mrc_rpc_flag {
	MRC_RPC_CHANGES = 1, /* needs the right to change */
};

struct mrc_rpc_method {
	const char *name;                   /* NULL ends the table; "hello" is built in */
	const struct mrc_ctl_table *params; /* NULL: takes none */
	void (*init)(void *params);         /* defaults; NULL: zeroes */
	uint32_t flags;                     /* enum mrc_rpc_flag */
	uint32_t states;                    /* bit per state of struct mrc_rpc; 0 = all */
	/* Returns MRC_RPC_GOOD with reply->result set, or what mrc_rpc_fail returned. params lives
	 * until the return. */
	int (*handle)(void *ctx, const void *params, struct mrc_rpc_reply *reply);
};

/* A service: what its connections have in common. */
struct mrc_rpc {
	const char *program, *release; /* as "hello" tells them */
	const struct mrc_rpc_method *methods;
	void *ctx;      /* of the handlers */
	uint32_t state; /* bit of the present state, for mrc_rpc_method.states */
};

/* One connection. */
struct mrc_rpc_peer {
	bool may_change; /* decided by the server from the peer's credentials */
	bool greeted;    /* said hello */
};

/*
 * Answers one JSON text (at most max_len bytes). Returns the answer, ended by a newline, which the
 * caller frees; NULL when there is nothing to say (notifications) or memory is short.
 */
char *mrc_rpc_answer(const struct mrc_rpc *rpc, struct mrc_rpc_peer *peer, const char *text,
	size_t len, size_t max_len);

/* An error object without a call (id null), as one line to free; text NULL: that of the code. */
char *mrc_rpc_error_line(int code, const char *text);

#endif
