/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctl_decode.h - JSON text to C structs and back, driven by tables. Strict: what the table does not
 * name is refused, what it names is checked, and nothing is applied by halves.
 *
 * A table lists the keys of one JSON object; a row says where the value goes, which values are
 * allowed and whether the key may be left out (then the struct keeps the default that the caller
 * put there). Every error is one line:
 *
 *   FILE: JSON.PATH[3].key: VALUE: what is wrong, what to do
 *
 * Threads: no shared state; any thread may decode. Memory: the caller's struct is only written on
 * success, from a scratch copy.
 */
#ifndef CTL_DECODE_H
#define CTL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "mrc_err.h"

enum mrc_ctl_type {
	MRC_CTL_TYPE_BOOL,   /* bool */
	MRC_CTL_TYPE_UINT,   /* uint8_t, uint16_t, uint32_t or uint64_t, by the row's size */
	MRC_CTL_TYPE_DOUBLE, /* double */
	MRC_CTL_TYPE_STRING, /* char[size], always ended by NUL */
	MRC_CTL_TYPE_ENUM,   /* unsigned integer of the row's size, one of the row's names */
	MRC_CTL_TYPE_OBJECT, /* nested struct with a table of its own */
	MRC_CTL_TYPE_ARRAY,  /* C array of fixed capacity and a uint32_t count */
	MRC_CTL_TYPE_CUSTOM, /* the row's decode function */
};

/* How a number may also be written: as a string with a unit. A plain number counts base units. */
enum mrc_ctl_unit {
	MRC_CTL_UNIT_NONE, /* number only */
	MRC_CTL_UNIT_TIME, /* ns; "10us", "1.5ms", "3s", "2min", "1h" */
	MRC_CTL_UNIT_RATE, /* bit/s; "400G", "2.5Gbps", "100 Mbit/s": powers of 1000 */
	MRC_CTL_UNIT_SIZE, /* bytes; "64KiB", "1MiB" (powers of 1024), "1kB", "5GB" (of 1000) */
	MRC_CTL_UNIT_HEX,  /* "0x1234" or decimal digits, for keys, addresses and numbers >= 2^63 */
	MRC_CTL_UNIT_RATIO, /* of a double: "1%", "0.05%" */
};

enum mrc_ctl_flag {
	MRC_CTL_REQUIRED = 1, /* leaving the key out is an error */
	MRC_CTL_PRESENT = 2,  /* the bool at present_offset becomes true when the key is there */
};

struct mrc_ctl_ctx; /* one decoding in progress; opaque, for custom decoders */
struct mrc_ctl_table;

struct mrc_ctl_name {
	const char *name; /* NULL ends the list */
	uint64_t value;
};

struct mrc_ctl_field {
	const char *key; /* NULL ends the table */
	enum mrc_ctl_type type;
	uint32_t flags;          /* enum mrc_ctl_flag */
	uint32_t offset;         /* of the member in the struct of the table, bytes */
	uint32_t size;           /* of the member; of one element for an array; bytes */
	uint32_t present_offset; /* with MRC_CTL_PRESENT */
	/* UINT: least and greatest value (max 0: what the member holds). STRING: least length.
	 * ARRAY: least and greatest number of elements. */
	uint64_t min, max;
	double dmin, dmax; /* DOUBLE: inclusive bounds; both 0: any finite number */
	enum mrc_ctl_unit unit;
	const struct mrc_ctl_name *names;  /* ENUM */
	const struct mrc_ctl_table *table; /* OBJECT */
	const struct mrc_ctl_field *elem;  /* ARRAY: one element (key unused, offset 0) */
	uint32_t count_offset;             /* ARRAY: of the uint32_t count */
	void (*init)(void *elem);          /* ARRAY: defaults of a new element; NULL: zeroes */
	/* CUSTOM: value to *member. Returns 0, or what mrc_ctl_fail returned. */
	int (*decode)(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
		const json_t *value, void *member);
	/* CUSTOM: a new reference for mrc_ctl_dump; NULL: the key is left out of dumps. */
	json_t *(*dump)(const struct mrc_ctl_field *field, const void *member);
};

struct mrc_ctl_table {
	const struct mrc_ctl_field *fields; /* ended by a row without a key */
	uint32_t size;                      /* of the struct, bytes */
	/* Looks at the whole decoded struct (what one row alone cannot tell); NULL: nothing more to
	 * check. Returns 0, or what mrc_ctl_fail or mrc_ctl_fail_key returned. May fill in derived
	 * members. */
	int (*check)(struct mrc_ctl_ctx *ctx, void *obj);
};

/* Rows. s: struct type, m: member, k: key. */
#define MRC_CTL_AT(s, m)                                                                           \
	.offset = (uint32_t)offsetof(s, m), .size = (uint32_t)sizeof(((s *)NULL)->m)
#define MRC_CTL_BOOL(k, s, m)                                                                      \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_BOOL, MRC_CTL_AT(s, m)                            \
	}
#define MRC_CTL_UINT(k, s, m, lo, hi)                                                              \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_UINT, MRC_CTL_AT(s, m), .min = (lo), .max = (hi)  \
	}
#define MRC_CTL_UNIT(k, s, m, u, lo, hi)                                                           \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_UINT, MRC_CTL_AT(s, m), .min = (lo), .max = (hi), \
		.unit = (u)                                                                        \
	}
/* p: the bool that tells whether the key was there. */
#define MRC_CTL_UNIT_PRESENT(k, s, m, p, u, lo, hi)                                                \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_UINT, .flags = MRC_CTL_PRESENT, MRC_CTL_AT(s, m), \
		.present_offset = (uint32_t)offsetof(s, p), .min = (lo), .max = (hi), .unit = (u)  \
	}
#define MRC_CTL_UNIT_REQUIRED(k, s, m, u, lo, hi)                                                  \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_UINT, .flags = MRC_CTL_REQUIRED,                  \
		MRC_CTL_AT(s, m), .min = (lo), .max = (hi), .unit = (u)                            \
	}
#define MRC_CTL_DOUBLE(k, s, m, lo, hi)                                                            \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_DOUBLE, MRC_CTL_AT(s, m), .dmin = (lo),           \
		.dmax = (hi)                                                                       \
	}
#define MRC_CTL_RATIO(k, s, m, lo, hi)                                                             \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_DOUBLE, MRC_CTL_AT(s, m), .dmin = (lo),           \
		.dmax = (hi), .unit = MRC_CTL_UNIT_RATIO                                           \
	}
#define MRC_CTL_STRING(k, s, m, min_len)                                                           \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_STRING, MRC_CTL_AT(s, m), .min = (min_len)        \
	}
#define MRC_CTL_ENUM(k, s, m, list)                                                                \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_ENUM, MRC_CTL_AT(s, m), .names = (list)           \
	}
#define MRC_CTL_OBJECT(k, s, m, t)                                                                 \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_OBJECT, MRC_CTL_AT(s, m), .table = (t)            \
	}
/* m: C array; count: its uint32_t count; e: row of an element; d: init function or NULL. */
#define MRC_CTL_ARRAY(k, s, m, count, e, lo, d)                                                    \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_ARRAY, .offset = (uint32_t)offsetof(s, m),        \
		.size = (uint32_t)sizeof(((s *)NULL)->m[0]), .min = (lo),                          \
		.max = sizeof(((s *)NULL)->m) / sizeof(((s *)NULL)->m[0]), .elem = (e),            \
		.count_offset = (uint32_t)offsetof(s, count), .init = (d)                          \
	}
#define MRC_CTL_CUSTOM(k, s, m, f)                                                                 \
	{                                                                                          \
		.key = (k), .type = MRC_CTL_TYPE_CUSTOM, MRC_CTL_AT(s, m), .decode = (f)           \
	}
#define MRC_CTL_END                                                                                \
	{                                                                                          \
		.key = NULL                                                                        \
	}

enum {
	MRC_CTL_ERROR_LEN = 512, /* of an error line with its NUL */
	MRC_CTL_FILE_MAX = 1048576,
	MRC_CTL_REQUEST_MAX = 262144,
	MRC_CTL_DEPTH_MAX = 32,
	MRC_CTL_VALUES_MAX = 65536,
};

struct mrc_ctl_error {
	char text[MRC_CTL_ERROR_LEN]; /* one line, no newline at its end */
	uint32_t line, column;        /* of a syntax error, from 1; 0: not a syntax error */
	bool limit;                   /* nested too deep or too many values */
};

/*
 * Parses JSON text after checking size, nesting and number of values. source: what the error line
 * names ("FILE", "request"). Returns a new reference, or NULL and fills *error_out. Refused: more
 * than max_len bytes, nesting above MRC_CTL_DEPTH_MAX, duplicate keys, numbers outside the range of
 * their type, invalid UTF-8, NUL characters, anything behind the text. Cost: linear.
 */
json_t *mrc_ctl_parse(const char *source, const char *text, size_t len, size_t max_len,
	struct mrc_ctl_error *error_out);
/* The same for a file of at most MRC_CTL_FILE_MAX bytes. Errors: MRC_ERR_INVAL, MRC_ERR_NOMEM;
 * *error_out says why. */
int mrc_ctl_parse_file(const char *path, json_t **value_out, struct mrc_ctl_error *error_out);

/*
 * Decodes a JSON value by the table into *obj (table->size bytes, holding the defaults). Returns
 * MRC_OK, MRC_ERR_INVAL (*error_out says why) or MRC_ERR_NOMEM; *obj changes with MRC_OK only.
 */
int mrc_ctl_decode(const char *source, const json_t *value, const struct mrc_ctl_table *table,
	void *obj, struct mrc_ctl_error *error_out);
/* Parsing and decoding in one step, for text and for a file. */
int mrc_ctl_decode_text(const char *source, const char *text, size_t len,
	const struct mrc_ctl_table *table, void *obj, struct mrc_ctl_error *error_out);
int mrc_ctl_decode_file(const char *path, const struct mrc_ctl_table *table, void *obj,
	struct mrc_ctl_error *error_out);

/* The struct as a new JSON object with every key of the table; what decode would read back. NULL
 * when memory is short. */
json_t *mrc_ctl_dump(const struct mrc_ctl_table *table, const void *obj);

/* ---- for custom decoders and check functions ----------------------------------------------- */

/* Notes the error (printf-like, about the value being decoded) and returns MRC_ERR_INVAL. */
int mrc_ctl_fail(struct mrc_ctl_ctx *ctx, const json_t *value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same about a key of the object being checked. */
int mrc_ctl_fail_key(struct mrc_ctl_ctx *ctx, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Decodes a nested value by a table or a single row into *obj / *member, in place. */
int mrc_ctl_object(
	struct mrc_ctl_ctx *ctx, const struct mrc_ctl_table *table, const json_t *value, void *obj);
int mrc_ctl_value(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field, const json_t *value,
	void *member);

/* Errors from here on are about element `index` of the value; returns what path_pop wants to take
 * that back. */
size_t mrc_ctl_path_index(struct mrc_ctl_ctx *ctx, size_t index);
void mrc_ctl_path_pop(struct mrc_ctl_ctx *ctx, size_t old);

/* Ready decoders for MRC_CTL_CUSTOM: "02:00:00:00:00:01" to uint8_t[6]; "10.0.0.1" or "fd00::1" to
 * 16 bytes in network order (IPv4 as ::ffff:a.b.c.d). */
int mrc_ctl_decode_mac(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member);
int mrc_ctl_decode_ip(struct mrc_ctl_ctx *ctx, const struct mrc_ctl_field *field,
	const json_t *value, void *member);
json_t *mrc_ctl_dump_mac(const struct mrc_ctl_field *field, const void *member);
json_t *mrc_ctl_dump_ip(const struct mrc_ctl_field *field, const void *member);

/*
 * A number with a unit (for command lines too): text as the unit's comment above shows, digits with
 * or without a fraction, a blank allowed before the unit. Returns MRC_OK, MRC_ERR_INVAL (not such a
 * number, or not a whole number of base units) or MRC_ERR_TOOBIG (above 2^64-1).
 */
int mrc_ctl_unit_parse(enum mrc_ctl_unit unit, const char *text, uint64_t *value_out);
/* Examples of a unit's spelling for error lines. */
const char *mrc_ctl_unit_hint(enum mrc_ctl_unit unit);

/* Name of the list nearest to a misspelt word, or NULL when none is near. get(list, i) returns the
 * i-th name, NULL at the end. */
const char *mrc_ctl_nearest(
	const char *word, const char *(*get)(const void *list, uint32_t i), const void *list);

#endif
