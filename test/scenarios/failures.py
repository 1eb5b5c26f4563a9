# SPDX-License-Identifier: BSD-2-Clause
"""Links, planes, switches and single paths that fail and return."""
import statistics

from marks import (MS, US, Scenario, Told, Variant, at_least, at_most, between, bins, ceiling, cut,
                   fault, mean, no_errors, packet_len, plane_spread, seeded, steady_min, within)


# ---- S3

# A minute's flaps in ten milliseconds; a flap lasts 50 to 600 us instead of 50 ms to 5 s, which is
# still more than the round trips in which the endpoints react.
# Number, and the time in which they begin.
S03_FLAPS = {"ring, 2 flaps": (2, 7500), "ring, 5 flaps": (5, 7500), "ring, 13 flaps": (13, 7500),
             "all-to-all, 5 flaps": (5, 3000), "iterations, 13 flaps": (13, 7500)}
S03_ALL = {"load.pattern": "all_to_all", "fabric.uplink_rate": "200G", "load.depth": 2,
           "load.duration": "6ms"}
S03_ITERATIONS = {"load.mode": "flows", "load.duration": 0, "load.warmup": 0,
                  "load.barrier": True, "load.bytes": "10MiB", "load.rounds": 50}


def s03_flaps(seed, name):
    nb, span_us = S03_FLAPS[name]
    rng = seeded(seed, "s03")
    out = []
    for i in range(nb):
        at = 2 * MS + i * span_us * US // nb + rng.randrange(200 * US)
        out.append(cut("carrier", rng.randrange(4), rng.randrange(4), rng.randrange(4), at,
                       at + rng.randrange(50 * US, 600 * US)))
    return out


def s03_variants():
    out = [Variant("ring", "s03.json", scales=False),
           Variant("all-to-all", "s03.json", S03_ALL, scales=False, gate=False),
           Variant("iterations", "s03.json", S03_ITERATIONS, scales=False)]
    for name in S03_FLAPS:
        sets = S03_ALL if name.startswith("all") else (
            S03_ITERATIONS if name.startswith("it") else {})
        out.append(Variant(name, "s03.json", lambda seed, n=name, s=sets: {
            "faults": s03_flaps(seed, n), **s}, scales=False,
                           gate=name in ("ring, 13 flaps", "iterations, 13 flaps")))
    return out


RING = [(h, (h + 1) % 16) for h in range(16)]
SHIFT = [(h, (h + 8) % 16) for h in range(16)]
ALL = [(a, b) for a in range(16) for b in range(16) if a != b]


# The rule allows a path that dies one packet on its wire and one round trip of further ones.
SILENT_LOSS = ("a path that falls silent is left when its next answer is late by a part of its "
               "turn: one packet more than the rule's single round trip allows")


def bdp_packets(r):
    """That a host with four ports of 100 Gb/s has in flight."""
    return 400e3 * r["rtt_us"] / 8 / packet_len(overhead=0)


def expected_loss(evs, window_packets):
    """Packets per affected path, by the rule L = affected EVs x (1 + in flight / EVs)."""
    return 1 + window_packets / evs


def loss_per_path(r, pairs, dead):
    """Lost packets of each queue pair that meets any of the cables (plane, leaf, spine, when), for
    each of its paths that one of them takes. Four hosts a leaf."""
    out, lost = [], {}
    for src, dst, _, packets in r["lost_per_qp"]["list"]:
        lost[src, dst] = lost.get((src, dst), 0) + packets
    for src, dst in pairs:
        leaves = {src // 4, dst // 4}
        met = {(plane, spine, at) for plane, leaf, spine, at in dead if leaf in leaves}
        if met and len(leaves) == 2:
            out.append(lost.get((src, dst), 0) / len(met))
    return out


def loss_marks(text, runs, pairs, dead, limit):
    """By the rule: the median queue pair within L, the worst one within 2 L."""
    def packets(part):
        return lambda r: part(loss_per_path(r, pairs, dead(r)) or [0])

    return [at_most(f"{text}: lost packets of a path, median QP that meets it", runs,
                    packets(statistics.median), limit),
            at_most(f"{text}: lost packets of a path, worst QP", runs, packets(max), 2 * limit)]


def s03_judge(res):
    marks = []
    for name in S03_FLAPS:
        runs = res.get(name)
        if not runs:
            continue
        pairs = ALL if name.startswith("all") else RING

        def dead(r, n=name):
            return [(f["plane"], f["leaf"], f["spine"], f["at"]) for f in s03_flaps(r["seed"], n)]

        marks += loss_marks(name, runs, pairs, dead,
                            expected_loss(16, bdp_packets(runs[0]) * 16 / len(pairs)))
        marks.append(loss_marks(f"{name}, a full window in flight", runs, pairs, dead,
                                expected_loss(16, 1.5 * bdp_packets(runs[0])))[0])
        marks.append(at_most(f"{name}: paths still taken for bad at the end", runs,
                             lambda r: r["series"]["ev_bad"][-1], 0, digits=0))
        if name.startswith("it"):
            continue
        healthy = statistics.median(steady_min(r) for r in res[name.split(",")[0]])
        marks.append(at_most(f"{name}: largest dip of goodput, 500 us bins", runs, lambda r:
                             100 * (1 - min(bins(r, "goodput_gbps", 1500,
                                                 r["simulated_us"] - 500, 500))
                                    / mean(between(r, "goodput_gbps", 1000, 2000))), 2, " %"))
        marks.append(at_least(f"{name}: slowest flow against healthy", runs,
                              lambda r, h=healthy: 100 * steady_min(r) / h, 98, " %"))
    # Healthy iterations are alike to 10 ns, so that their P99 leaves no room: a thousandth is.
    p99 = statistics.median(r["rounds"]["us"]["p99"] for r in res["iterations"])
    runs = res["iterations, 13 flaps"]
    marks.append(at_most("iterations, 13 flaps: median iteration, of the healthy P99", runs,
                         lambda r: r["rounds"]["us"]["median"] / p99, 1.001, "", 4))
    marks.append(Told("iterations, 13 flaps: mean and P99 iteration, of the healthy P99", ", ".join(
        f"{statistics.median(r['rounds']['us'][key] for r in runs) / p99:.3f}"
        for key in ("mean", "p99"))))
    return marks + [no_errors(res)]


# ---- S4

def s04_serial():
    return [cut("carrier", i % 8, 0, i // 8, (1000 + 400 * i) * US) for i in range(16)]


def s04_at_once():
    return [cut("carrier", p, 0, p % 4, 2 * MS, 5 * MS) for p in range(8)]


def s04_binding():
    """Of each plane's four uplinks one, then a second; they return in turn."""
    return ([cut("carrier", p, 0, 1, 3 * MS, 6 * MS) for p in range(8)]
            + [cut("carrier", p, 0, 2, 4 * MS, 5 * MS) for p in range(8)])


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
    # A path returns when two probes are answered, the first of them within an interval.
    for part, start, what in ((0.75, 3000, "one is lost"), (0.5, 4000, "two are lost"),
                              (0.75, 5000 + S05_PROBES_US, "one is back and probed")):
        marks.append(within(f"quarter uplinks: goodput from 20 T after {what}, of {part:g} C", runs,
                            lambda r, s=start, p=part: mean(between(
                                r, "goodput_gbps", s + 20 * r["rtt_us"],
                                s // 1000 * 1000 + 980)) / (p * c), 0.97, 1.0))
    marks.append(at_least("quarter uplinks: goodput after the return, of before", runs, lambda r:
                          100 * mean(between(r, "goodput_gbps", 7000, 7900))
                          / mean(between(r, "goodput_gbps", 1500, 2900)), 98, " %"))
    return marks + [no_errors(res)]


# ---- S5

# Two answered probes bring a path back; the first one is sent up to an interval after the return.
S05_PROBES_US = 3 * 200


def s05_ports():
    down = [1000, 1700, 2400, 3100]
    up = [4200, 4900, 5600, 6300]
    return [fault("carrier", d * US, u * US, plane=p, host=0)
            for p, (d, u) in enumerate(zip(down, reversed(up)))]


def s05_four():
    return [fault("carrier", 2 * MS, 6 * MS, plane=p, host=0) for p in range(4)]


def s05_seven():
    return [fault("carrier", (2 * MS if p else 1 * MS), 6 * MS, plane=p, host=0)
            for p in range(7)]


def s05_leaf():
    return [fault("restart", 2 * MS, 6 * MS, plane=3, leaf=0)]


def s05_last_sent_us(r):
    """From the fall of plane 0's port to the last data that the peer sent to it."""
    times = [t for t, length, *_ in r["frames"] if 2000 <= t < 5900 and length > 1000]
    return max(times, default=2000) - 2000


def s05_return(r, up_us):
    """Rate from the return of the last plane on, once it was probed and 10 T more."""
    start = up_us + S05_PROBES_US + 10 * r["rtt_us"] + 20
    return mean(between(r, "goodput_gbps", start, start + 500)) / mean(
        between(r, "goodput_gbps", 500, 980))


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
        marks.append(at_least(f"{name}: rate 2 probes and 10 T after the return, of before", runs,
                              lambda r: s05_return(r, 6300), 0.99, "", 3))
    for name, part in (("four at once", 1 / 2), ("seven of eight", 1 / 8), ("leaf", 7 / 8)):
        marks.append(within(f"{name}: rate 500 us after, of {part:g}", res[name],
                            lambda r, p=part: share(r, 2500, 5900) / p, 0.99, 1.01, "", 3))
        marks.append(at_least(f"{name}: rate after the return, of before", res[name],
                              lambda r: share(r, 8500, 9900), 0.99, "", 3))
        marks.append(at_least(f"{name}: rate 2 probes and 10 T after the return, of before",
                              res[name], lambda r: s05_return(r, 6000), 0.99, "", 3))
    marks.append(at_most("four at once: peer's last packet to a dead port", res["four at once"],
                         lambda r: s05_last_sent_us(r) / r["rtt_us"], 3, " T"))
    # The layout of SACKs that is built has no ports' bitmap: silence of the paths tells.
    marks.append(Told("four at once, no port status: peer's last packet to a dead port", f"""{max(
        s05_last_sent_us(r) / r['rtt_us'] for r in res['four at once, no port status']):.2f} T"""))
    for name in ("four at once", "four at once, no port status"):
        marks.append(Told(f"{name}: lost packets per QP, median and worst", ", ".join(
            f"{max(r['lost_per_qp'][key] for r in res[name]):.0f}" for key in ("median", "max"))))
    return marks + [no_errors(res)]


# ---- S6

def s06_grey():
    return [fault("silent_discard", 2 * MS, 4 * MS, plane=1, spine=2),
            fault("restart", 4 * MS, 4500 * US, plane=1, spine=2)]


def s06_dead(seed, percent):
    """Cables, one a plane and leaf: every pair of leaves keeps capacity for its hosts."""
    rng = seeded(seed, "s06")
    links = [(p, l, s) for p in range(4) for l in range(4) for s in range(4)]
    while True:
        dead = rng.sample(links, max(1, round(len(links) * percent / 100)))
        if len({d[:2] for d in dead}) == len(dead):
            return dead


def s06_cold(percent):
    return lambda seed: {"faults": [cut("silent_discard", *d, 0)
                                    for d in s06_dead(seed, percent)]}


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
    limit = expected_loss(16, bdp_packets(runs[0]))
    # A queue pair meets two cables of the spine, which are one path.
    lost = [r["lost_per_qp"] for r in runs]
    marks.append(at_most("grey spine: lost packets of a path, median QP", lost,
                         lambda x: x["median"], limit))
    marks.append(at_most("grey spine: the same, in flight being a full window", lost,
                         lambda x: x["median"], expected_loss(16, 1.5 * bdp_packets(runs[0]))))
    marks.append(at_most("grey spine: lost packets of a path, worst QP", lost,
                         lambda x: x["max"], 2 * limit))
    marks.append(Told("grey spine: lost packets per QP, worst (published: fewer than 5, with more "
                      "paths than packets in flight)", max(x["max"] for x in lost)))
    for percent in (1, 5, 10):
        name = f"cold start {percent} %"
        runs = res[name]
        # A QP begins with a full window, one and a half times what a link pair holds.
        marks += loss_marks(name, runs, SHIFT, lambda r, p=percent: [
            (*cable, 0) for cable in s06_dead(r["seed"], p)],
                            expected_loss(16, 1.5 * bdp_packets(runs[0])))
        marks.append(Told(f"{name}: lost packets per QP, worst (published: fewer than 5 in the "
                          "first minute)", max(r["lost_per_qp"]["max"] for r in runs)))
        marks.append(at_least(f"{name}: goodput from 100 T on, of C", runs, lambda r:
                              100 * mean(between(r, "goodput_gbps", 100 * r["rtt_us"], 7900))
                              / (16 * ceiling(4, 100)), 98, " %"))
    return marks + [no_errors(res)]


# ---- S7

S07_RATES = [0.001, 0.01, 0.05, 0.2, 1.0]


def s07_variants():
    return [Variant(f"loss {100 * p:g} %", "s07.json", {"run.repair": True, "faults": [
        cut("loss", 0, 0, s, 1 * MS, rate=p, direction="leaf_up") for s in (0, 1)]}, trace=True)
            for p in S07_RATES]


def s07_retired_us(r):
    """From the moment at which the first loss could be detected, which is when the next packet on
    the path could have been answered, to the last use of the path before it was given up: that may
    come while it rests."""
    lost = sorted((at, after) for _, after, at in r["repair"]["list_ns"] if at >= 990)
    states = [t for t in r["trace"] if t[2] == "ev_state" and t[1] == "0" and int(t[0]) >= MS]
    gone = next((t for t in states if t[5] == "2"), None)
    if not lost:
        return 0.0
    if gone is None:
        return 1e9
    left = int(gone[0])
    if gone[4] == "8":
        left = max(int(t[0]) for t in states if t[3] == gone[3] and t[5] == "8"
                   and int(t[0]) <= left)
    return max(0, left / 1e3 - lost[0][0] - lost[0][1] / 1e3 - r["rtt_us"])


def s07_planes(r):
    """Largest over smallest number of packets of a plane, in any 500 us from the onset on."""
    return max(max(planes) / min(planes) for planes in zip(*(
        bins(r, f"plane{p}_packets", 1000, 5900, 500) for p in range(8))))


def s07_judge(res):
    marks = []
    c = ceiling(8, 100)
    for p in S07_RATES:
        runs = [r for r in res[f"loss {100 * p:g} %"] if r["fabric"]["dropped"] > 0]
        if not runs:
            marks.append(Told(f"{100 * p:g} %", "no packet met the loss in these runs"))
            continue
        marks.append(at_most(f"{100 * p:g} %: path retired after its first detectable loss", runs,
                             lambda r: s07_retired_us(r) / r["rtt_us"], 2, " T"))
        marks.append(at_most(f"{100 * p:g} %: cost in a 200 ms bin", runs,
                             lambda r: shortfall(r, 990, 5900), 1, " %"))
        marks.append(at_least(f"{100 * p:g} %: median goodput from then on, of C", runs,
                              lambda r: 100 * statistics.median(
                                  between(r, "goodput_gbps", 1000, 5900)) / c, 99, " %"))
        marks.append(at_most(f"{100 * p:g} %: planes' shares, largest over smallest", runs,
                             plane_spread, 1.01, "", 4))
        # A replacement in another plane would take that one a third above, and this a half below.
        marks.append(at_most(f"{100 * p:g} %: the same in any 500 us", runs, s07_planes, 1.02, "",
                             4))
        times = sorted(s07_retired_us(r) / r["rtt_us"] for r in runs)
        marks.append(Told(f"{100 * p:g} %: time to retire, T, all seeds",
                          " ".join(f"{t:.2f}" for t in times)))
    return marks + [no_errors(res)]


SCENARIOS = [
    Scenario("s03", "Flap storm", "E2", s03_variants(), s03_judge, {
        "lost packets of a path, median": SILENT_LOSS,
        "all-to-all, 5 flaps: lost packets of a path, worst": SILENT_LOSS}, gated=True),
    Scenario("s04", "Serial and simultaneous uplink loss", "E8, E9, E19, E20", [
        Variant("one by one", "s04.json", {"faults": s04_serial()}, scales=False),
        Variant("eight at once", "s04.json", {"faults": s04_at_once()}, scales=False),
        Variant("uplinks at a quarter", "s04.json", {
            "faults": s04_binding(), "fabric.uplink_rate": "25G"}, scales=False)],
             s04_judge, {
                 "one is back and probed": "the answer to a probe is not source-routed: it takes "
                                           "the uplink that hashing gives, which for a quarter of the "
                                           "values is the dead one, so that these values return "
                                           "only with it",
                 "after two are lost": "seed 3: while links fail a live path is convicted, and a "
                                       "dead one only rests; its plane keeps one path of four, and "
                                       "planes are equal"}),
    Scenario("s05", "Plane loss and return", "E6, E7, E10", [
        Variant("near", "s05.json", {"faults": s05_ports(), "load.flows": [
            [0, 0, 1, "1MiB"], [0, 1, 0, "1MiB"]]}, scales=False),
        Variant("far", "s05.json", {"faults": s05_ports()}, scales=False),
        Variant("far, no port status", "s05.json", {"faults": s05_ports() + [
            fault("loss", 0, 6400 * US, packets="ep_request")]}, scales=False),
        Variant("four at once", "s05.json", {"faults": s05_four()}, scales=False,
                frames="plane=0,host=2,class=host_up"),
        Variant("four at once, no port status", "s05.json", {"faults": s05_four() + [
            fault("loss", 0, packets="ep_request")]}, scales=False,
                frames="plane=0,host=2,class=host_up"),
        Variant("seven of eight", "s05.json", {"faults": s05_seven()}, scales=False),
        Variant("leaf", "s05.json", {"faults": s05_leaf()}, scales=False)],
             s05_judge, {
                 "seven of eight: rate 500 us": "where four QPs share one port of 100G the fourth "
                                                "packet of each, which a SACK is owed for, is late "
                                                "enough to be asked about: probes take 1.7 %"},
             gated=True),
    Scenario("s06", "Grey spine and reboot; cold start", "E4, E1", [
        Variant("grey spine", "s06.json", {"faults": s06_grey()}, scales=False)]
             + [Variant(f"cold start {p} %", "s06.json", s06_cold(p), scales=False)
                for p in (1, 5, 10)],
             s06_judge, {"grey spine: lost packets of a path, median": SILENT_LOSS}),
    Scenario("s07", "Lossy EV", "E12", s07_variants(), s07_judge, gated=True),
]
