# SPDX-License-Identifier: BSD-2-Clause
"""The scenarios: variants of their files, and what they are judged by.

Rates and times are those of the emulated fabric. C is the format ceiling: what the planes carry of
payload when every packet is full. T is the unloaded round trip across a spine.
"""
import statistics

from marks import (MS, US, Mark, Scenario, Variant, at_least, at_most, between, bins, ceiling, cut,
                   fault, mean, no_errors, seeded, steady_min, within)
import calibration
import repair


# ---- S1

S01_SIZES = ["32KiB", "256KiB", "4MiB"]


def s01_variants():
    out = []
    for place, second in (("near", 1), ("far", 2)):
        for size in S01_SIZES:
            for qps in (1, 4):
                depth = 128 if size == "32KiB" else 16 if size == "256KiB" else 3
                out.append(Variant(f"{place} {size} x {qps}", "s01.json", {
                    "load.second": second, "load.message": size, "load.qps": qps,
                    "load.depth": depth}))
        out.append(Variant(f"{place} pmtu 1024", "s01.json", {
            "load.second": second, "host.pmtu": 1024, "host.mpr": 32, "load.depth": 16}))
        out.append(Variant(f"{place} 2 B", "s01.json", {
            "load.second": second, "load.mode": "flows", "load.bytes": 2, "load.message": 64,
            "load.rounds": 20, "load.round_gap": "100us"}, scales=False))
    return out


def s01_judge(res):
    marks = []
    c = ceiling(8, 100)
    for place in ("near", "far"):
        runs = [r for name, many in res.items() for r in many
                if name.startswith(place) and " x " in name]
        marks.append(at_least(f"goodput {place}, 32 KiB and above, of C", runs,
                              lambda r: 100 * steady_min(r) / c, 99, " %"))
        marks.append(at_least(f"goodput {place}, PMTU 1024, of C", res[f"{place} pmtu 1024"],
                              lambda r: 100 * steady_min(r) / ceiling(8, 100, 1024), 99, " %"))
    gaps = []
    for size in S01_SIZES:
        for qps in (1, 4):
            near = statistics.median(map(steady_min, res[f"near {size} x {qps}"]))
            far = statistics.median(map(steady_min, res[f"far {size} x {qps}"]))
            gaps.append(100 * abs(near - far) / near)
    marks.append(Mark("difference of placements", "<= 0.5 %", f"{max(gaps):.2f} %",
                      max(gaps) <= 0.5))
    near = statistics.median(r["flows"]["fct_us"]["median"] for r in res["near 2 B"])
    far = statistics.median(r["flows"]["fct_us"]["median"] for r in res["far 2 B"])
    # Two more links each way: 1 us each, and about 15 ns of a small packet on each.
    marks.append(Mark("half round trip of 2 B across a spine, above that in a leaf",
                      "2.01 us +- 10 %", f"{(far - near) / 2:.3f} us",
                      abs((far - near) / 2 - 2.014) <= 0.2))
    marks.append(at_most("retransmissions", [r for m in res.values() for r in m],
                         lambda r: r["engine"]["retransmits"], 0, digits=0))
    return marks + [no_errors(res)]


# ---- S2

S02_FLOWS = [[0, i, 8 + i, "8MiB"] for i in range(8)]


def s02_judge(res):
    c = ceiling(1, 400)
    marks = []
    for name in ("1 QP", "8 QPs"):
        runs = res[name]
        marks.append(at_least(f"slowest flow of C, {name}", runs,
                              lambda r: 100 * steady_min(r) / c, 97, " %"))
        marks.append(at_least(f"slowest over fastest flow, {name}", runs, lambda r:
                              steady_min(r) / r["goodput"]["steady_gbps"]["max"], 0.97))
        marks.append(at_most(f"uplink load, max over mean, {name}", runs, lambda r:
                             r["fabric"]["links"]["leaf_up"]["load_max_over_mean"], 1.05))
    # A hash that never collides would prove that the fabric does not hash.
    v = min(r["flows"]["gbps"]["min"] / ceiling(1, 400, srv6=False)
            for r in res["baseline 1 QP"])
    marks.append(Mark("baseline's slowest flow of C, any seed", "<= 0.55", f"{v:.2f}",
                      v <= 0.55))
    return marks + [no_errors(res)]


# ---- S3

def s03_flaps(seed):
    rng = seeded(seed, "s03")
    out = []
    for i in range(5):
        at = 2 * MS + i * 1500 * US + rng.randrange(200 * US)
        out.append(cut("carrier", rng.randrange(4), rng.randrange(4), rng.randrange(4), at,
                       at + rng.randrange(50 * US, 600 * US)))
    return out


def expected_loss(evs, window_packets):
    """Packets per affected path, by the rule L = affected EVs x (1 + in flight / EVs)."""
    return 1 + window_packets / evs


def s03_judge(res):
    marks = []
    runs = res["flaps"]
    healthy = statistics.median(steady_min(r) for r in res["healthy"])
    # Over one run: five flaps; each hits one EV of the flows that cross that leaf.
    limit = expected_loss(16, 1.5 * 112)
    marks.append(at_most("lost packets per QP and flap, median QP", runs,
                         lambda r: r["lost_per_qp"]["median"] / 5, limit))
    marks.append(at_most("lost packets per QP and flap, worst QP", runs,
                         lambda r: r["lost_per_qp"]["max"] / 5, 2 * limit))
    marks.append(at_most("largest dip of goodput, 500 us bins", runs, lambda r:
                         100 * (1 - min(bins(r, "goodput_gbps", 1500, 11500, 500))
                                / mean(between(r, "goodput_gbps", 1000, 2000))), 2, " %"))
    marks.append(at_least("goodput against healthy", runs,
                          lambda r: 100 * steady_min(r) / healthy, 98, " %"))
    marks.append(at_most("paths still taken for bad at the end", runs,
                         lambda r: r["series"]["ev_bad"][-1], 0, digits=0))
    return marks + [no_errors(res)]


# ---- S4

def s04_serial():
    return [cut("carrier", i % 8, 0, i // 8, (1000 + 400 * i) * US) for i in range(16)]


def s04_at_once():
    return [cut("carrier", p, 0, p % 4, 2 * MS, 5 * MS) for p in range(8)]


def s04_binding():
    return [cut("carrier", p, 0, 1, 3 * MS, 5500 * US) for p in range(8)]


def shortfall(r, start_us, end_us, events=1):
    """What an event costs, as a share of a 200 ms bin, the bin of the published plots: the run is
    compressed in time, the reaction is not."""
    before = mean(between(r, "goodput_gbps", start_us - 400, start_us))
    values = between(r, "goodput_gbps", start_us, end_us)
    lost = sum(max(0.0, before - v) for v in values) * 20  # a sample is 20 us
    return 100 * lost / events / (before * 200000)


def median_after(r, start_us, end_us):
    before = mean(between(r, "goodput_gbps", start_us - 400, start_us))
    return 100 * statistics.median(between(r, "goodput_gbps", start_us, end_us)) / before


def s04_judge(res):
    c = 2 * ceiling(8, 100)
    marks = []
    for name, start, events in (("one by one", 990, 16), ("eight at once", 1990, 1)):
        runs = res[name]
        marks.append(at_most(f"{name}: cost of an event in its 200 ms bin", runs,
                             lambda r, s=start, e=events: shortfall(r, s, 7800, e), 2, " %"))
        marks.append(at_least(f"{name}: goodput between events, of before", runs,
                              lambda r, s=start: median_after(r, s, 7800), 98, " %"))
        marks.append(at_least(f"{name}: goodput before, of C with both directions", runs, lambda r:
                              100 * mean(between(r, "goodput_gbps", 500, 980)) / c, 98, " %"))
    # Both hosts of a leaf share its uplinks, but only one sends: the uplinks bind alone.
    runs = res["uplinks at a quarter"]
    marks.append(within("quarter uplinks: goodput before the loss, of C", runs, lambda r:
                        mean(between(r, "goodput_gbps", 1500, 2900)) / c, 0.95, 1.0))
    marks.append(within("quarter uplinks: goodput of the remaining 75 % from 20 T after", runs,
                        lambda r: mean(between(r, "goodput_gbps", 3200, 5400)) / (0.75 * c),
                        0.97, 1.0))
    marks.append(at_least("quarter uplinks: goodput after the return, of before", runs, lambda r:
                          100 * mean(between(r, "goodput_gbps", 6500, 7900))
                          / mean(between(r, "goodput_gbps", 1500, 2900)), 98, " %"))
    return marks + [no_errors(res)]


# ---- S5

def s05_ports():
    down = [1000, 1700, 2400, 3100]
    up = [4200, 4900, 5600, 6300]
    return [fault("carrier", d * US, u * US, plane=p, host=0)
            for p, (d, u) in enumerate(zip(down, reversed(up)))]


def s05_four():
    return [fault("carrier", 2 * MS, 6 * MS, plane=p, host=0) for p in range(4)]


def s05_leaf():
    return [fault("restart", 2 * MS, 6 * MS, plane=3, leaf=0)]


def s05_judge(res):
    marks = []
    c = 2 * ceiling(8, 100)

    def share(r, start, end):
        return mean(between(r, "goodput_gbps", start, end)) / mean(
            between(r, "goodput_gbps", 500, 980))

    for name in ("near", "far", "far, no port status"):
        runs = res[name]
        marks.append(at_least(f"{name}: rate before, of C with both directions", runs, lambda r:
                              100 * mean(between(r, "goodput_gbps", 500, 980)) / c, 98, " %"))
        for k, start, end in ((1, 1300, 1700), (2, 2000, 2400), (3, 2700, 3100),
                              (4, 3500, 4200)):
            marks.append(within(f"{name}: rate with {k} planes down, of (8-{k})/8", runs,
                                lambda r, s=start, e=end, k=k: share(r, s, e) / ((8 - k) / 8),
                                0.99, 1.01, "", 3))
        marks.append(at_least(f"{name}: rate after the return, of before", runs,
                              lambda r: share(r, 8500, 9900), 0.99, "", 3))
    for name, part in (("four at once", 1 / 2), ("leaf", 7 / 8)):
        marks.append(within(f"{name}: rate 500 us after, of {part:g}", res[name],
                            lambda r, p=part: share(r, 2500, 5900) / p, 0.99, 1.01, "", 3))
        marks.append(at_least(f"{name}: rate after the return, of before", res[name],
                              lambda r: share(r, 8500, 9900), 0.99, "", 3))
    marks.append(at_most("four at once: last loss after", res["four at once"],
                         lambda r: last_loss_us(r, 2000, 3500), 5 * 9.5 + 20, " us", 0))
    return marks + [no_errors(res)]


def last_loss_us(r, start_us, end_us):
    s = r["series"]
    times = [t for t, v in zip(s["t_us"], s["lost"]) if start_us < t <= end_us and v > 0]
    return max(times) - start_us if times else 0


# ---- S6

def s06_grey():
    return [fault("silent_discard", 2 * MS, 4 * MS, plane=1, spine=2),
            fault("restart", 4 * MS, 4500 * US, plane=1, spine=2)]


def s06_cold(percent):
    def sets(seed):
        rng = seeded(seed, "s06")
        links = [(p, l, s) for p in range(4) for l in range(4) for s in range(4)]
        while True:
            dead = rng.sample(links, max(1, round(len(links) * percent / 100)))
            # One a plane and leaf: every pair of leaves keeps capacity for its hosts.
            if len({d[:2] for d in dead}) == len(dead):
                break
        return {"faults": [cut("silent_discard", *d, 0) for d in dead]}
    return sets


def s06_judge(res):
    marks = []
    runs = res["grey spine"]
    base = [mean(between(r, "goodput_gbps", 1000, 2000)) for r in runs]
    for r, b in zip(runs, base):
        r["base"] = b
    marks.append(at_least("goodput 20 T after the spine went grey, of before", runs, lambda r:
                          100 * mean(between(r, "goodput_gbps", 2200, 3900)) / r["base"], 98, " %"))
    marks.append(at_most("second dip, at the reboot (200 us bins)", runs, lambda r:
                         100 * (1 - min(bins(r, "goodput_gbps", 3900, 5900, 200)) / r["base"]), 1,
                         " %"))
    marks.append(at_most("paths still taken for bad at the end", runs,
                         lambda r: r["series"]["ev_bad"][-1], 0, digits=0))
    limit = expected_loss(16, 1.5 * 112)
    marks.append(at_most("grey spine: lost packets per QP, median", runs,
                         lambda r: r["lost_per_qp"]["median"], limit))
    marks.append(at_most("grey spine: lost packets per QP, worst", runs,
                         lambda r: r["lost_per_qp"]["max"], 2 * limit))
    for percent in (1, 5, 10):
        runs = res[f"cold start {percent} %"]
        dead = max(1, round(64 * percent / 100))
        # Every pair of leaves meets its dead links: up at one, down at the other.
        marks.append(at_most(f"cold start, {percent} % dead: lost packets per QP, worst", runs,
                             lambda r: r["lost_per_qp"]["max"], 2 * dead * limit))
        marks.append(at_least(f"cold start, {percent} % dead: goodput from 100 T on, of C", runs,
                              lambda r: 100 * mean(between(r, "goodput_gbps", 1000, 7900))
                              / (16 * ceiling(4, 100)), 98, " %"))
    return marks + [no_errors(res)]


# ---- S7

S07_RATES = [0.001, 0.01, 0.05, 0.2, 1.0]


def s07_variants():
    return [Variant(f"loss {100 * p:g} %", "s07.json", {"faults": [
        cut("loss", 0, 0, s, 1 * MS, rate=p, direction="leaf_up") for s in (0, 1)]}, trace=True)
            for p in S07_RATES]


def s07_retired_us(r):
    """From the first loss that the requester saw to the path's leaving."""
    first = next((int(t[0]) for t in r["trace"] if t[2] == "loss" and int(t[0]) >= MS), None)
    gone = next((int(t[0]) for t in r["trace"] if t[2] == "ev_state" and t[1] == "0"
                 and int(t[0]) >= MS and t[5] == "2"), None)
    if first is None:
        return 0.0
    return 1e9 if gone is None else max(0, gone - first) / 1e3


def s07_judge(res):
    marks = []
    c = ceiling(8, 100)
    for p in S07_RATES:
        runs = [r for r in res[f"loss {100 * p:g} %"] if r["fabric"]["dropped"] > 0]
        if not runs:
            continue
        marks.append(at_most(f"{100 * p:g} %: path retired after its first detected loss", runs,
                             s07_retired_us, 2 * 9.5, " us", 1))
        marks.append(at_most(f"{100 * p:g} %: cost in a 200 ms bin", runs,
                             lambda r: shortfall(r, 990, 5900), 1, " %"))
        marks.append(at_least(f"{100 * p:g} %: median goodput from then on, of C", runs,
                              lambda r: 100 * statistics.median(
                                  between(r, "goodput_gbps", 1000, 5900)) / c, 99, " %"))
        marks.append(at_most(f"{100 * p:g} %: planes' shares, largest over smallest", runs,
                             plane_spread, 1.01, "", 4))
    return marks + [no_errors(res)]


# ---- S8

S08_LOSSES = [0, 0.0001, 0.001, 0.01]
# A loss in the tail is repaired within 3 T, 28 us: no more than 5 % of a run of 560 us or longer.
# At 1 MiB for each pair the lossless run takes 342 us, at 4 MiB 1340 us.
S08_EACH = "4MiB"


def s08_loss(p, **more):
    out = dict(more)
    if p:
        out["faults"] = [fault("loss", 0, direction="host_down", rate=p)]
    return out


def s08_variants():
    out = []
    for p in S08_LOSSES:
        out.append(Variant(f"{100 * p:g} %", "s08.json", s08_loss(p)))
        out.append(Variant(f"all-to-all {100 * p:g} %", "s08.json", s08_loss(p, **{
            "load.pattern": "all_to_all", "load.bytes": S08_EACH})))
    for p in (0, 0.01):
        out.append(Variant(f"baseline {100 * p:g} %", "s08.json", s08_loss(p, **{
            "transport": "rc", "fabric.planes": 1, "fabric.rate": "400G", "run.limit": "30s",
            "ev.count": 64})))
    return out


def fct_total(r):
    return r["simulated_us"]


def s08_of_c(r):
    return (100 * r["engine"]["rx_data_bytes"] * 8 / (r["simulated_us"] * 1000)
            / (16 * ceiling(4, 100, srv6=False)))


def s08_judge(res):
    marks = []
    for kind in ("", "all-to-all "):
        clean = statistics.median(fct_total(r) for r in res[f"{kind}0 %"])
        marks.append(at_least(f"{kind}lossless run, of C", res[f"{kind}0 %"], s08_of_c, 95, " %"))
        marks.append(at_least(f"{kind}0.1 % loss: speed of the lossless run",
                              res[f"{kind}0.1 %"], lambda r: 100 * clean / fct_total(r), 95, " %"))
        marks.append(at_least(f"{kind}1 % loss: speed of the lossless run",
                              res[f"{kind}1 %"], lambda r: 100 * clean / fct_total(r), 33.3, " %"))
    base = statistics.median(fct_total(r) for r in res["baseline 0 %"])
    marks.append(at_most("baseline at 1 %: speed of its lossless run", res["baseline 1 %"],
                         lambda r: 100 * base / fct_total(r), 10, " %"))
    ours = statistics.median(fct_total(r) for r in res["1 %"])
    theirs = statistics.median(fct_total(r) for r in res["baseline 1 %"])
    marks.append(Mark("faster than the baseline at 1 %", "> 1 x", f"{theirs / ours:.1f} x",
                      theirs > ours))
    return marks + [no_errors(res)]


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


def conns(r):
    return r["goodput"]["steady_per_conn"]


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


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


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


# ---- S12

def s12_variants():
    out = []
    for p in (5, 20, 100):
        faults = [fault("loss", 1 * MS, plane=1, host=3, rate=p / 100)]
        out.append(Variant(f"{p} %", "s12.json", {"faults": faults}))
        # Too few values may be retired to leave the plane: as if only the prober could judge.
        out.append(Variant(f"{p} % kept", "s12.json", {"faults": faults, "ev.min_active": 14}))
    return out


def plane_spread(r):
    sent = [x["tx_data_packets"] for x in r["engine"]["planes"]]
    return max(sent) / min(sent)


def s12_judge(res):
    marks = []
    for p in (5, 20, 100):
        marks.append(at_most(f"planes' shares with {p} % loss, largest over smallest",
                             res[f"{p} %"], plane_spread, 1.05))
        marks.append(at_most(f"the same with {p} % loss when the plane may not be left",
                             res[f"{p} % kept"], plane_spread, 1.05))
        marks.append(at_least(f"flows of the host with {p} % loss, of 3/4 C", res[f"{p} %"],
                              lambda r: min(conns(r)[3], conns(r)[11])
                              / (0.75 * ceiling(4, 100)), 0.99))
    marks.append(Mark("prober names the link", "within 2 x 5/p ms", "no prober", False))
    return marks + [no_errors(res)]


# ---- S13

def s13_variants():
    out = [Variant("healthy", "s13.json")]
    for p in (0.01, 0.1, 0.5, 1.0):
        out.append(Variant(f"{100 * p:g} %", "s13.json", {"faults": [fault(
            "loss", 0, plane=0, rate=p, direction="host_down",
            packets=["sack", "nack", "ack"])]}))
    return out


def s13_judge(res):
    marks = []
    healthy = statistics.median(r["flows"]["gbps"]["median"] for r in res["healthy"])
    p99 = statistics.median(r["flows"]["fct_us"]["p99"] for r in res["healthy"])
    for p in ("1 %", "10 %", "50 %", "100 %"):
        marks.append(at_least(f"median goodput with {p} of one plane's answers lost", res[p],
                              lambda r: 100 * r["flows"]["gbps"]["median"] / healthy, 98, " %"))
    marks.append(at_most("P99 completion at 10 %, of healthy", res["10 %"],
                         lambda r: r["flows"]["fct_us"]["p99"] / p99, 2))
    return marks + [no_errors(res)]


# ---- S14

S14_EVS = [4, 8, 16, 32, 64, 128, 256]
S14_SACKS = [1, 2, 4, 8, 16]  # packets of 4 KiB
S14_ECN = [(0.05, 0.2), (0.1, 0.4), (0.2, 0.8), (0.4, 1.0), (0.8, 1.0)]  # of a link's BDP
S14_SKIP = [0.25, 0.5, 1, 2, 4, 8, 32]  # T
S14_T_US = 9.409
S14_MPR = [1, 2, 4, 8]  # units of 128 packets; a BDP is 242 with links of 2.4 us
# No more values than paths, so that hashing does not decide.
S14_WINDOW = {"fabric.forward": "srv6", "ev.mode": "srv6", "ev.count": 16, "fabric.delay": "2400ns",
              "load.mode": "steady", "load.message": "128KiB", "load.depth": 64,
              "load.warmup": "400us", "load.duration": "1400us"}


def s14_variants():
    out = [Variant(f"{n} values", "s14.json", {"ev.count": n}) for n in S14_EVS]
    out += [Variant(f"SACK {n}:1", "s14.json", {
        "choice": {"sack_gen_threshold": n * 4096}}) for n in S14_SACKS]
    bdp = 100 / 8 * S14_T_US * 1000
    out += [Variant(f"ECN {lo} .. {hi}", "s14.json", {
        "fabric.ecn_min": int(lo * bdp), "fabric.ecn_max": int(hi * bdp)}) for lo, hi in S14_ECN]
    out += [Variant(f"skip {n} T", "s14.json", {
        "ev.skip_max": int(n * S14_T_US * 1000)}) for n in S14_SKIP]
    out += [Variant(f"MPR {n}", "s14.json", {"host.mpr": n, **S14_WINDOW}) for n in S14_MPR]
    return out


def tail(r):
    return r["flows"]["fct_us"]["max"]


def s14_judge(res):
    marks = []
    tails = [statistics.median(map(tail, res[f"{n} values"])) for n in S14_EVS]
    marks.append(Mark("tail from 16 to 256 values does not rise", "<= 1.03 x",
                      f"{max(tails[3:]) / tails[2]:.3f} x", max(tails[3:]) <= 1.03 * tails[2]))
    one = statistics.median(map(tail, res["SACK 1:1"]))
    eight = statistics.median(map(tail, res["SACK 8:1"]))
    marks.append(Mark("tail with SACKs 8:1 against 1:1", "<= 1.05 x", f"{eight / one:.3f} x",
                      eight <= 1.05 * one))
    for what, names, usual in (
            ("SACKs 1:1 .. 16:1", [f"SACK {n}:1" for n in S14_SACKS], "SACK 4:1"),
            ("ECN from 0.05 to 1 BDP", [f"ECN {lo} .. {hi}" for lo, hi in S14_ECN],
             "ECN 0.2 .. 0.8"),
            ("longest skip 0.25 .. 32 T", [f"skip {n} T" for n in S14_SKIP], "skip 32 T")):
        tails = {n: statistics.median(map(tail, res[n])) for n in names}
        best = min(tails, key=tails.get)
        marks.append(Mark(f"tail with the default ({usual}) of the best over {what}", "<= 1.10 x",
                          f"{tails[usual] / tails[best]:.3f} x ({best})",
                          tails[usual] <= 1.1 * tails[best]))
    c = ceiling(4, 100)
    for n in S14_MPR:
        if n >= 4:
            marks.append(at_least(f"slowest flow with an MPR of {128 * n / 242:.1f} BDP, of C",
                                  res[f"MPR {n}"], lambda r: 100 * steady_min(r) / c, 97, " %"))
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


# ---- S16

# As many faults at a time as 13 flaps a minute of a second each.
S16_STORM = {"storm": {"every": "750us", "length": "150us"}}
S16_DEAD = 5  # the host that loses every port


def s16_round_bytes(rounds):
    """All-to-all, or a ring of the same weight."""
    return rounds * 16 * 15 * (1 << 20)


def s16_ratios(res, name):
    return [r["simulated_us"] / h["simulated_us"] for r, h in zip(res[name], res["healthy"])]


def s16_round_ratio(res, name):
    """Median over all rounds of all seeds, each against the healthy median of its kind."""
    healthy = [statistics.median(b - a for r in res["healthy"] for a, b in
                                 r["rounds"]["list"][kind::2]) for kind in (0, 1)]
    return statistics.median((b - a) / healthy[i % 2] for r in res[name]
                             for i, (a, b) in enumerate(r["rounds"]["list"]))


def s16_dead_cleanly(r):
    """Flows between other hosts are all done, no other one failed, and the run came to its end."""
    others = sum(S16_DEAD not in f[:2] for f in r["flows"]["list"])
    return (r["flows"]["done"] == r["flows"]["count"] and others == 2 * (15 * 14 + 14)
            and r["flows"]["failed"] > 0 and r["rounds"]["us"]["count"] == 4)


def s16_judge(res):
    marks = []
    for name in ("storm", "storm and new QPs"):
        ratios = s16_ratios(res, name)
        marks.append(Mark(f"{name}: completion of healthy, median seed", "<= 1.05",
                          f"{statistics.median(ratios):.3f}", statistics.median(ratios) <= 1.05))
        marks.append(Mark(f"{name}: completion of healthy, worst seed", "<= 1.15",
                          f"{max(ratios):.3f}", max(ratios) <= 1.15,
                          res[name][ratios.index(max(ratios))]["command"]))
        v = s16_round_ratio(res, name)
        marks.append(Mark(f"{name}: median round of healthy", "<= 1.05", f"{v:.3f}", v <= 1.05))
        marks.append(at_least(f"{name}: bytes verified of those sent", res[name], lambda r:
                              r["verify"]["bytes_verified"]
                              / s16_round_bytes(r["rounds"]["us"]["count"]), 1, digits=3))
        marks.append(at_most(f"{name}: growth of memory after a fifth", res[name], lambda r:
                             100 * (r["memory"]["resident_late"] / r["memory"]["resident_early"]
                                    - 1), 1, " %"))
    runs = res["storm and new QPs"]
    marks.append(at_least("late packets of ended QPs, all refused", runs, lambda r:
                          r["churn"]["late"] if r["churn"]["accepted"] == 0 else 0, 1, digits=0))
    runs = res["a host loses all ports"]
    # Its 15 senders, and the 15 others' senders to it.
    marks.append(within("a host loses all ports: QPs in error", runs,
                        lambda r: r["engine"]["qp_errors"], 30, 30, digits=0))
    marks.append(at_least("a host loses all ports: runs in which only its flows fail", runs,
                          lambda r: float(s16_dead_cleanly(r)), 1, digits=0))
    rest = {name: many for name, many in res.items() if name != "a host loses all ports"}
    return marks + [no_errors(rest)]


SCENARIOS = [
    Scenario("cal", "Calibration against the published NSCC reference runs", "htsim", calibration.variants(),
             calibration.judge, gated=True),
    Scenario("repair", "Repair of single losses", "-", repair.variants(),
             repair.judge, gated=True),
    Scenario("s01", "Clean pair sweep", "E5", s01_variants(), s01_judge, gated=True),
    Scenario("s02", "Permutation at full uplinks", "E21", [
        Variant("1 QP", "s02.json"), Variant("8 QPs", "s02.json", {"load.qps": 8, "load.depth": 2}),
        Variant("baseline 1 QP", "s02.json", {
            "transport": "rc", "load.mode": "flows", "load.flows": S02_FLOWS,
            "fabric.forward": "ecmp", "ev.mode": "stev"}, scales=False)],
             s02_judge, gated=True),
    Scenario("s03", "Flap storm", "E2", [
        Variant("healthy", "s03.json", scales=False),
        Variant("flaps", "s03.json", lambda seed: {"faults": s03_flaps(seed)}, scales=False)],
             s03_judge, gated=True),
    Scenario("s04", "Serial and simultaneous uplink loss", "E8, E9, E19, E20", [
        Variant("one by one", "s04.json", {"faults": s04_serial()}, scales=False),
        Variant("eight at once", "s04.json", {"faults": s04_at_once()}, scales=False),
        Variant("uplinks at a quarter", "s04.json", {
            "faults": s04_binding(), "fabric.uplink_rate": "25G"}, scales=False)],
             s04_judge),
    Scenario("s05", "Plane loss and return", "E6, E7, E10", [
        Variant("near", "s05.json", {"faults": s05_ports(), "load.flows": [
            [0, 0, 1, "1MiB"], [0, 1, 0, "1MiB"]]}, scales=False),
        Variant("far", "s05.json", {"faults": s05_ports()}, scales=False),
        Variant("far, no port status", "s05.json", {"faults": s05_ports() + [
            fault("loss", 0, 6400 * US, packets="ep_request")]}, scales=False),
        Variant("four at once", "s05.json", {"faults": s05_four()}, scales=False),
        Variant("leaf", "s05.json", {"faults": s05_leaf()}, scales=False)],
             s05_judge, gated=True),
    Scenario("s06", "Grey spine and reboot; cold start", "E4, E1", [
        Variant("grey spine", "s06.json", {"faults": s06_grey()}, scales=False)]
             + [Variant(f"cold start {p} %", "s06.json", s06_cold(p), scales=False)
                for p in (1, 5, 10)],
             s06_judge),
    Scenario("s07", "Lossy EV", "E12", s07_variants(), s07_judge, gated=True),
    Scenario("s08", "Uniform loss, all planes", "E15 .. E17", s08_variants(), s08_judge),
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
    Scenario("s12", "Lossy host link and prober", "design text", s12_variants(), s12_judge, not_yet={
                 "prober names": "the prober is not built yet",
                 "planes' shares": "all values of the lossy plane are retired, so the two flows that "
                                   "meet it leave it; with ev.min_active 14 of 16 they cannot, and "
                                   "the planes are equal"}),
    Scenario("s13", "Reverse-path trouble", "little effect apart from tail", s13_variants(),
             s13_judge, gated=True),
    Scenario("s14", "Sensitivity sheet", "32/64/128 paths", s14_variants(), s14_judge),
    Scenario("s15", "Mixed tenants and unequal planes", "stated limitation", [
        Variant(f"{b} %", "s15.json", {"load.background_rate": f"{b}G"}) for b in (25, 50)],
             s15_judge, gated=True),
    Scenario("s16", "Soak and restart", "none", [
        Variant("healthy", "s16.json"),
        Variant("storm", "s16.json", S16_STORM),
        Variant("storm and new QPs", "s16.json", {**S16_STORM, "churn": {"every": "500us"}}),
        Variant("a host loses all ports", "s16.json", {
            "faults": [fault("carrier", 600 * US, host=S16_DEAD)], "load.rounds": 4,
            "host.linear_retries": 2, "host.exponential_retries": 3}, scales=False)], s16_judge,
             gated=True),
]
