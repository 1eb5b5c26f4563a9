/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mrc_err.h - error codes of the public calls: a caller's mistake, never a peer's.
 * 0 is success, every code is negative. The names come from the same list.
 */
#ifndef MRC_ERR_H
#define MRC_ERR_H

/* X(name, value, text) */
#define MRC_ERR_LIST(X)                                                                            \
	X(MRC_ERR_INVAL, -1, "an argument is out of range or the combination makes no sense")      \
	X(MRC_ERR_STATE, -2, "the object is in a state that does not allow this")                  \
	X(MRC_ERR_NOMEM, -3, "the table or arena that was sized at create is full")                \
	X(MRC_ERR_FULL, -4, "the queue is full")                                                   \
	X(MRC_ERR_NOENT, -5, "no such object")                                                     \
	X(MRC_ERR_BUSY, -6, "the object is still in use")                                          \
	X(MRC_ERR_LKEY, -7, "a local key or its bounds do not cover the buffer")                   \
	X(MRC_ERR_TOOBIG, -8, "longer than the protocol or the buffer allows")                     \
	X(MRC_ERR_OPCODE, -9, "the operation does not exist in MRC")                               \
	X(MRC_ERR_SPACE, -10, "the caller's buffer is too small")

#define MRC_ERR_ENUM(name, value, text) name = value,
enum mrc_err {
	MRC_OK = 0,
	MRC_ERR_LIST(MRC_ERR_ENUM)
};
#undef MRC_ERR_ENUM

/* Name of an error code ("MRC_ERR_INVAL"), "MRC_OK" for 0, "MRC_ERR_?" for anything else. */
const char *mrc_err_name(int err);
/* One sentence for a person; never NULL. */
const char *mrc_err_text(int err);

#endif
