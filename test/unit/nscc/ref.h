/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ref.h - a second NSCC, written only to be compared with the library: one flat procedure per
 * event, everything in double, no regard for speed. Shares no code with lib/mrc_nscc.
 */
#ifndef NSCC_REF_H
#define NSCC_REF_H

#include <stdbool.h>

struct ref_par {
	double mtu, R0, T, P, Bthr, Wmax0, k, Q, alpha, phi, sigma, eta, gamma, mu;
	bool qa_off, q_never;
};

struct ref {
	struct ref_par p;
	double W, Wmax, F, R, D, A, recv, ach, qa_end, to_ignore, ignored, fi_count, t_adj, t_dec,
		saved;
	bool armed, fast;
};

void ref_init(struct ref *r, const struct ref_par *p, double t);
/* rtt < 0: none */
void ref_sack(struct ref *r, double t, double b, bool m, double rtt, int pend, bool restore);
void ref_nack(struct ref *r, double t, double n, bool trimmed, double rtt);
void ref_loss(struct ref *r, double n);

#endif
