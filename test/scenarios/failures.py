# SPDX-License-Identifier: BSD-2-Clause
"""Links, planes, switches and single paths that fail and return."""
import statistics

from marks import (MS, US, Scenario, Variant, at_least, at_most, between, bins, ceiling, cut,
                   fault, mean, no_errors, plane_spread, seeded, steady_min, within)


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


SCENARIOS = [
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
]
