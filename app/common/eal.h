/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eal.h - DPDK's environment layer: arguments from the configuration, defaults that work on a
 * machine without hugepages and without a NIC, a quiet log, and tidy leftovers.
 */
#ifndef MRC_APP_EAL_H
#define MRC_APP_EAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mrc_err.h"

#define MRC_EAL_MAX_ARGS 128

/* What the arguments are made of. Strings are the caller's and outlive the struct. */
struct mrc_eal_plan {
	const char *const *file_args; /* "eal" of the configuration */
	uint32_t nb_file_args;
	const char *const *cli_args; /* of the command line; they win */
	uint32_t nb_cli_args;
	const char *const *vdevs; /* full device strings */
	uint32_t nb_vdevs;
	const char *const *pcis; /* PCI names */
	uint32_t nb_pcis;
	uint32_t memory_mib; /* wanted; 0 = leave it to EAL */
	bool hugepages;      /* enough free hugepages are there */
	const char *lcores;  /* -l or --lcores value of the configuration, or NULL */
	const char *prefix;  /* --file-prefix when nobody names one */
};

/* Argument vector made of a plan. */
struct mrc_eal_args {
	char *argv[MRC_EAL_MAX_ARGS + 1];
	char *given[MRC_EAL_MAX_ARGS + 1]; /* the same pointers in EAL's hands, which moves them */
	int argc;
};

/*
 * Builds the vector: file arguments, command line arguments, and a default for whatever neither
 * names (memory, PCI scan, file prefix, lcores, log level). Errors: MRC_ERR_TOOBIG (too many),
 * MRC_ERR_NOMEM. Release with mrc_eal_args_free.
 */
int mrc_eal_args_build(struct mrc_eal_args *args_out, const struct mrc_eal_plan *plan);
void mrc_eal_args_free(struct mrc_eal_args *args);

/* MiB of free hugepages of all sizes. */
uint32_t mrc_eal_hugepages_free_mib(void);

/*
 * rte_eal_init with EAL's own chatter kept back; on failure, and when a word is left over that is
 * no option, reason_out (room bytes) says what it complained of first. Errors: MRC_ERR_INVAL (the
 * arguments are refused), MRC_ERR_STATE (memory, a device or else something is missing).
 */
int mrc_eal_start(struct mrc_eal_args *args, char *reason_out, uint32_t room);
/* Runs a function in EAL's interrupt thread, between two interrupts, and waits for it: there is no
 * other way to keep it apart from the handlers of drivers. */
void mrc_eal_interrupt_run(void (*run)(void *ctx), void *ctx);
/* rte_eal_cleanup if wanted, and removal of the run-time directory that EAL leaves behind. */
void mrc_eal_stop(bool cleanup);
/*
 * Exits without EAL's cleanup and with the ports open; only EAL's directory is removed. For a
 * process with a memif: the driver frees its connection under EAL's interrupt thread when both ends
 * close at the same time (DPDK 22.11). The kernel closes without that mistake.
 */
void mrc_eal_leave(int code) __attribute__((noreturn));

#endif
