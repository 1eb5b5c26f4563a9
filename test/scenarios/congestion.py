# SPDX-License-Identifier: BSD-2-Clause
"""Shared paths, incast, slow links, background traffic."""
import statistics

from marks import (US, Mark, Scenario, Variant, at_least, at_most, between, ceiling, conns,
                   jain, mean, no_errors, tail, within)


# ---- S9

def s09_judge(res):
    runs = res["pinned"]
    c = ceiling(1, 100)
    marks = [at_least("free flow of its path's ceiling", runs, lambda r: 100 * conns(r)[0] / c,
                      95, " %"),
             at_least("pinned flow of its rate", runs, lambda r: 100 * conns(r)[1] / 90, 95,
                      " %"),
             # Off the shared path: what both reach together is what the two paths carry apart.
             at_least("both from 10 T on, of their rates (500 us)", runs, lambda r: 100 * mean(
                 between(r, "goodput_gbps", 10 * r["rtt_us"], 10 * r["rtt_us"] + 500))
                      / (c + 90), 95, " %"),
             at_least("window from 10 T on, least of largest", runs, lambda r: 100 * min(
                 between(r, "cwnd", 10 * r["rtt_us"], 5900)) / max(
                     between(r, "cwnd", 0, 5900)), 90, " %")]
    return marks + [no_errors(res)]


# ---- S10

# The window control has no credits from the receiver. With marks on the last hop it settles soon;
# without, only trims hold the senders back and shares wander, so that they are judged over 100 ms
# (the definition says 5 s).
S10_MARK = {"fabric.ecn_last_hop": True}
S10_QPS = {"load.qps": 8, "load.depth": 4, "run.repair": True}


# A flow joins every 500 us; each has so many bytes that fair shares end all of them at 8 ms.
S10_FIRST, S10_JOIN = (0, 1, 2, 4, 5, 6, 8), (3, 7, 10, 11, 14, 15, 13, 9)
S10_END_US, S10_VICTIM_US = 8000, 5500


def s10_growth():
    rate = ceiling(1, 400) * 1e3 / 8  # bytes in a us
    joins = [(0, h) for h in S10_FIRST]
    joins += [(2000 + 500 * i, h) for i, h in enumerate(S10_JOIN)]
    flows = []
    for i, (at, host) in enumerate(joins):
        size, times = 0, sorted({t for t, _ in joins if t >= at} | {S10_END_US})
        for begin, end in zip(times, times[1:]):
            size += rate * (end - begin) / sum(1 for t, _ in joins if t <= begin)
        flows.append([at * US, host, 12, int(size)])
    # The victim shares its host with the last one that joins, and ends before.
    flows.insert(1, [0, 9, 13, int(rate * S10_VICTIM_US)])
    return flows


# Where a host's queue is kept full by trims a copy waits in what trimmed its packet.
S10_REPAIR = ("the copy meets the queue that trimmed its packet: header, NACK and way are 1.5 T, a "
              "last hop that trims at 1.5 BDP another 1.5 T, and the window of 1.5 BDP of a flow that "
              "joins 1.7 T more; the rest is what window control without credits leaves in queues")


def s10_growth_variant(name, **more):
    return Variant(name, "s10.json", {"load.mode": "flows", "load.duration": 0,
                                      "load.flows": s10_growth(), "run.repair": True, **more},
                   scales=False)


def repair_p99(r, after_us=2000):
    """Round trips that 99 of 100 packets trimmed after the warm-up were missing."""
    times = sorted(t for t, _, at in r["repair"]["list_ns"] if at >= after_us)
    return times[int(0.99 * len(times))] / (1000 * r["rtt_us"]) if times else 0


def s10_trims(res):
    marks = []
    for name in ("8 QPs", "8 QPs, no marks on the last hop", "growing to 15",
                 "growing to 15, no marks on the last hop"):
        n = sum(at >= 2000 for r in res[name] for _, _, at in r["repair"]["list_ns"])
        marks.append(at_most(f"{name}: P99 repair of {n} packets trimmed after 2 ms", res[name],
                             repair_p99, 3, " T"))
        marks.append(at_most(f"{name}: timer expiries, with trimming", res[name],
                             lambda r: r["engine"]["timeouts"], 0, digits=0))
    return marks


def s10_growing(res):
    marks = []
    for name in ("growing to 15", "growing to 15, no marks on the last hop"):
        runs = res[name]
        marks.append(at_most(f"{name}: all flows done, over the bottleneck's time", runs,
                             lambda r: r["simulated_us"] / S10_END_US, 1 / 0.97, "", 3))
        marks.append(at_most(f"{name}: victim's time over that at its rate alone", runs,
                             lambda r: r["flows"]["list"][1][3] / S10_VICTIM_US, 1 / 0.97, "", 3))
        marks.append(at_most(f"{name}: paths taken for bad", runs,
                             lambda r: max(r["series"]["ev_bad"]), 0, digits=0))
    return marks


def s10_judge(res):
    marks = []
    c = ceiling(1, 400)
    solo = statistics.median(conns(r)[0] for r in res["victim alone"])
    for name in ("1 QP", "8 QPs", "no marks on the last hop"):
        runs = res[name]
        marks.append(at_least(f"{name}: Jain index of the seven", runs,
                              lambda r: jain(conns(r)[:7]), 0.98, "", 3))
        marks.append(at_least(f"{name}: bottleneck of C", runs,
                              lambda r: 100 * sum(conns(r)[:7]) / c, 97, " %"))
        marks.append(at_least(f"{name}: victim of its rate alone", runs,
                              lambda r: 100 * conns(r)[7] / solo, 97, " %"))
        marks.append(at_most(f"{name}: timer expiries", runs,
                             lambda r: r["engine"]["timeouts"], 0, digits=0))
        marks.append(at_most(f"{name}: paths taken for bad", runs,
                             lambda r: max(r["series"]["ev_bad"]), 0, digits=0))
    return marks + s10_trims(res) + s10_growing(res) + [no_errors(res)]


# ---- S11

def s11_slow(share, **more):
    return {"fabric.links": [{"leaf": 0, "spine": 1, "direction": "leaf_up",
                              "rate": int(400e9 * share)}], **more}


# Longest SKIP: none (round robin), one that ends when the walk has met it, and the default.
S11_POLICIES = (("oblivious", {"ev.skip_max": 0}), ("passed once", {"ev.skip_max": 1}), ("", {}))


def s11_variants():
    out = [Variant("healthy", "s11.json")]
    for name, share in (("half rate", 0.5), ("a tenth", 0.1)):
        out += [Variant(f"{name} {policy}".strip(), "s11.json", s11_slow(share, **sets))
                for policy, sets in S11_POLICIES]
    return out


def s11_judge(res):
    marks = []
    healthy = statistics.median(map(tail, res["healthy"]))
    for name, share, bound in (("half rate", 0.5, 1.14), ("a tenth", 0.1, 1.29)):
        marks.append(at_most(f"tail with one uplink at {name}, of healthy", res[name], lambda r:
                             tail(r) / healthy, 1.1 * bound))
        # The link's part of its leaf's uplinks, against that of a whole one of four.
        part = 4 * share / (3 + share)
        marks.append(within(f"load of the uplink at {name}, of its part by capacity", res[name],
                            lambda r, p=part: r["fabric"]["links"]["leaf_up"][
                                "load_min_over_mean"] / p, 0.8, 1.2))
    ours, blind, once = (statistics.median(map(tail, res[f"half rate {p}".strip()]))
                         for p in ("", "oblivious", "passed once"))
    marks.append(Mark("median tail at half rate, of the oblivious one", "<= 0.65 x",
                      f"{ours / blind:.2f} x", ours <= 0.65 * blind))
    marks.append(Mark("median tail at half rate, of paths passed once", "< 1 x",
                      f"{ours / once:.2f} x", ours < once))
    return marks + [no_errors(res)]


# ---- S15

def s15_judge(res):
    c = ceiling(4, 100)
    marks = []
    for b in (25, 50):
        # Strict equality of planes gives exactly 1; more is the gain of leaving the loaded plane.
        marks.append(at_least(f"goodput of the flow that meets {b} % background, of (1 - b) C",
                              res[f"{b} %"], lambda r, b=b:
                              conns(r)[0] / (c * (1 - b / 100)), 0.95))
    return marks + [no_errors(res)]


SCENARIOS = [
    Scenario("s09", "ECN rebalancing", "E13", [Variant("pinned", "s09.json")], s09_judge, not_yet={
                 "window from 10 T on": "each time the shared path's rest ends, a round trip's "
                                        "packets run into its queue, and trims cost the window "
                                        "their size; recycled values would risk one packet"}),
    Scenario("s10", "Incast with victim", "E18, E22", [
        Variant("1 QP", "s10.json", S10_MARK),
        Variant("8 QPs", "s10.json", {**S10_MARK, **S10_QPS}),
        Variant("no marks on the last hop", "s10.json", {"load.duration": "100ms"}),
        Variant("8 QPs, no marks on the last hop", "s10.json", S10_QPS),
        s10_growth_variant("growing to 15", **S10_MARK),
        s10_growth_variant("growing to 15, no marks on the last hop"),
        Variant("victim alone", "s10.json", {"load.flows": [[0, 9, 13, "1MiB"]]})], s10_judge,
        {"P99 repair": S10_REPAIR}),
    Scenario("s11", "Degraded uplink", "recycled against oblivious", s11_variants(), s11_judge,
             not_yet={
                 "uplink at a tenth": "a round trip's packets run into the slow link whenever its "
                                      "rest ends, and most are trimmed; a fixed window takes 1.6 "
                                      "of healthy as well. Recycled values, which would risk one "
                                      "packet, are not built"}),
    Scenario("s15", "Mixed tenants and unequal planes", "stated limitation", [
        Variant(f"{b} %", "s15.json", {"load.background_rate": f"{b}G"}) for b in (25, 50)],
             s15_judge, gated=True),
]
