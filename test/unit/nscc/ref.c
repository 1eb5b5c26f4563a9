/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "ref.h"

void ref_init(struct ref *r, const struct ref_par *p, double t)
{
	memset(r, 0, sizeof(*r));
	r->p = *p;
	r->W = r->Wmax = p->Wmax0;
	r->R = p->R0;
	r->t_adj = r->t_dec = t;
}

/* 1: handled */
static int ref_qa(struct ref *r, double t, int loss, int m, double q)
{
	int done = 0;

	if (r->p.qa_off)
		return 0;
	if (r->ignored < r->to_ignore && m) {
		r->A = r->recv = 0;
		return 1;
	}
	if (t < r->qa_end)
		return 0;
	if (r->qa_end != 0) {
		int deep = !r->p.q_never && q > r->p.Q;

		if ((r->armed || loss || deep) && r->ach < floor(r->Wmax / pow(2, r->p.k))) {
			r->W = fmax(r->ach, r->p.mtu);
			r->to_ignore = fmax(r->F, 0);
			r->ignored = 0;
			r->armed = false;
			r->A = r->recv = 0;
			done = 1;
		}
	}
	r->ach = 0;
	r->qa_end = t + r->R + r->p.T;
	return done;
}

static void ref_rtt(struct ref *r, double rtt)
{
	if (rtt < 128)
		rtt = 128;
	if (rtt < r->R) {
		r->R = rtt;
		r->Wmax = fmax(floor(r->p.Wmax0 * rtt / r->p.R0), r->p.mtu);
		r->W = fmin(r->W, r->Wmax);
	}
}

void ref_sack(struct ref *r, double t, double b, bool m, double rtt, int pend, bool restore)
{
	bool limited = false;
	double q, x;

	r->F -= b;
	r->ignored += b;
	r->recv += b;
	r->ach += b;
	if (pend > 0) {
		if (r->saved == 0)
			r->saved = r->W;
		r->W = fmin(r->W, r->F);
		r->W = fmax(r->p.mtu, r->W - floor(pend * b / 128));
		limited = true;
	} else {
		if (restore && r->saved > 0)
			r->W = fmin(r->saved, r->Wmax);
		r->saved = 0;
	}
	if (rtt < 0)
		return;
	ref_rtt(r, rtt);
	q = fmax(rtt - r->R, 0);
	x = (!m && q > r->p.T) ? r->R / 4 : q;
	r->D = r->D + (x - r->D) / 80;
	if (ref_qa(r, t, 0, m, q))
		return;
	if (!m && q < r->p.T && !limited) {
		bool fast_now = false;

		if (q < 1000) {
			r->fi_count += b;
			if (r->fi_count > r->W || r->fast) {
				r->fast = fast_now = true;
				r->W = floor(fmin(r->W + r->p.sigma * b, r->Wmax));
			} else {
				r->fast = false;
			}
		} else {
			r->fi_count = 0;
			r->fast = false;
		}
		if (!fast_now)
			r->A += r->p.alpha * b * (r->p.T - q);
	}
	if (!m && q >= r->p.T && !limited)
		r->A += r->p.phi * b;
	if (m && q >= r->p.T) {
		r->fast = false;
		r->fi_count = 0;
		if (r->D > r->p.T && t - r->t_dec > r->R) {
			double f = 1 - r->p.gamma * (r->D - r->p.T) / r->D;

			r->W = floor(fmax(r->W * fmax(f, r->p.mu), r->p.mtu));
			r->t_dec = t;
		}
	}
	if (t - r->t_adj >= r->p.P || r->recv > r->p.Bthr) {
		r->W = floor(fmin(r->W + r->A / r->W, r->Wmax));
		if (t - r->t_adj >= r->p.P) {
			r->t_adj = t;
			r->W = floor(fmin(r->W + r->p.eta, r->Wmax));
		}
		r->A = r->recv = 0;
	}
}

void ref_nack(struct ref *r, double t, double n, bool trimmed, double rtt)
{
	r->F -= n;
	if (rtt >= 0)
		ref_rtt(r, rtt);
	if (!trimmed)
		return;
	r->D = r->D + (r->p.R0 - r->D) / 80;
	r->ignored += n;
	r->armed = true;
	if (!ref_qa(r, t, 1, 1, 0))
		r->W = fmax(r->W - n, r->p.mtu);
}

void ref_loss(struct ref *r, double n)
{
	r->W = fmax(r->W - n, r->p.mtu);
	r->ignored += n;
	r->F -= n;
}
