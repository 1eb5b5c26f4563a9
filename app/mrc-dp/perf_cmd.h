/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_cmd.h - "mrc-dp perf" (raw frames and the protocol in alternating windows) and "mrc-dp raw"
 * (raw frames only). argv[0] is the command's name. Returns the exit code. */
#ifndef MRC_APP_PERF_CMD_H
#define MRC_APP_PERF_CMD_H

int mrc_perf_main(int argc, char **argv);

#endif
