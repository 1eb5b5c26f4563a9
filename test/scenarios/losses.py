# SPDX-License-Identifier: BSD-2-Clause
"""Uniform loss on all planes, against the baseline.

Large messages: a loss in the tail is repaired within 3 T, 28 us, no more than 5 % of a run of
560 us or longer. The lossless ones take 2700 us (ring) and 1340 us (all-to-all).
"""
import statistics

from marks import Mark, Scenario, Told, Variant, at_least, at_most, ceiling, fault, no_errors

LOSSES = [0, 0.0001, 0.001, 0.005, 0.01, 0.02]
CHECKED = [0, 0.001, 0.01]  # at every size, and with the baseline
# All-reduce: bytes of the vector. All-to-all: bytes for each other host. The last is large.
SIZES = {"ring": ["4MiB", "32MiB", "64MiB"], "all-to-all": ["256KiB", "1MiB", "4MiB"]}
PATTERN = {"ring": "all_reduce", "all-to-all": "all_to_all"}
# What an entropy value is: hashed with aliases, or as many source-routed ones as paths.
PATHS = {"256 values": {}, "16 paths": {"fabric.forward": "srv6", "ev.mode": "srv6",
                                        "ev.count": 16}}
WAITS = {"run.waits": True, "run.sample": "5us"}
# The reference of the literature has one plane of all planes' rate; over the same four planes a
# queue pair has one of them.
BASELINES = {"plane of 400G": {"fabric.planes": 1, "fabric.rate": "400G"}, "same planes": {}}
# Its fabric pauses instead of dropping; here queues have room for all that is under way. Each
# packet is acknowledged: marks shrink windows below the usual four.
RC = {"transport": "rc", "run.limit": "30s", "run.sample": 0, "fabric.drop_at": "1GiB",
      "fabric.packets": 1 << 18, "rc.ack_every": 1}
# 64 hosts behind the same switches: sixteen of a leaf fill four uplinks of four times the rate.
RANKS = {"fabric.hosts_per_leaf": 16, "fabric.uplink_rate": "400G"}
RANKS_SIZE = {"ring": "16MiB", "all-to-all": "64KiB"}
SWEEP_LOSS = 0.01
SWEEPS = {
    "MPR": ("host.mpr", [1, 2, 4, 8], lambda v: f"{128 * v} packets"),
    "probes each": ("ev.probe_max", ["20us", "100us", "1ms", "10ms"], str),
    "values kept": ("ev.min_active", [0, 64, 128, 192], lambda v: f"{v} of 256"),
    "SACK": ("choice", [{"sack_gen_threshold": n * 4096} for n in (1, 2, 4, 8, 16)],
             lambda v: f"{v['sack_gen_threshold'] // 4096}:1"),
}


def percent(p):
    return f"{100 * p:g} %"


def lossy(p, **more):
    if p:
        more["faults"] = [fault("loss", 0, direction="host_down", rate=p)]
    return more


def work(kind, size):
    return {"load.pattern": PATTERN[kind], "load.bytes": size}


def sweep_sets(key, value):
    """Probes come at one interval: the longest is also the first."""
    return {key: value, **({"ev.probe": value} if key == "ev.probe_max" else {})}


def has_baseline(base, kind, size):
    """Over the same planes the large size is enough: one of four planes is a quarter."""
    return base != "same planes" or size == SIZES[kind][-1]


def s08_variants():
    out = []
    for kind, sizes in SIZES.items():
        for paths, sets in PATHS.items():
            out += [Variant(f"{kind} {sizes[-1]} {paths} {percent(p)}", "s08.json", lossy(
                p, **work(kind, sizes[-1]), **sets, **WAITS), plots=p in CHECKED) for p in LOSSES]
        out += [Variant(f"{kind} {size} 256 values {percent(p)}", "s08.json", lossy(
            p, **work(kind, size)), plots=False) for size in sizes[:-1] for p in CHECKED]
        out += [Variant(f"{kind} of 64 {percent(p)}", "s08.json", lossy(
            p, **work(kind, RANKS_SIZE[kind]), **RANKS), plots=False) for p in CHECKED]
        for base, sets in BASELINES.items():
            out += [Variant(f"baseline {base} {kind} {size} x {qps} {percent(p)}", "s08.json",
                            lossy(p, **work(kind, size), **sets, **RC, **{"load.qps": qps}),
                            plots=False) for size in sizes for qps in (1, 16) for p in CHECKED
                    if has_baseline(base, kind, size)]
    out.append(Variant("sweep 0 %", "s08.json", {**work("ring", "32MiB"), **WAITS}, plots=False))
    for name, (key, values, text) in SWEEPS.items():
        out += [Variant(f"{name} {text(v)}", "s08.json", lossy(
            SWEEP_LOSS, **work("ring", "32MiB"), **WAITS, **sweep_sets(key, v)), plots=False)
                for v in values]
    return out


def median_us(runs):
    return statistics.median(r["simulated_us"] for r in runs)


def of_c(r, bytes_each, srv6):
    """Of the ceiling, by what every host receives."""
    return 100 * bytes_each * 8 / (r["simulated_us"] * 1000) / ceiling(4, 100, srv6=srv6)


def s08_speeds(res):
    """Speed with loss against without, large messages."""
    marks = []
    for kind, sizes in SIZES.items():
        for paths in PATHS:
            name = f"{kind} {sizes[-1]} {paths}"
            clean = median_us(res[f"{name} 0 %"])
            marks.append(at_least(f"{name}: lossless run, of C", res[f"{name} 0 %"],
                                  lambda r, s=paths == "16 paths": of_c(
                                      r, r["engine"]["rx_data_bytes"] / 16, s), 95, " %"))
            for p, mark in ((0.001, 95), (0.01, 100 / 3)):
                marks.append(at_least(f"{name}: speed of the lossless run at {percent(p)}",
                                      res[f"{name} {percent(p)}"], lambda r, c=clean:
                                      100 * c / r["simulated_us"], mark, " %"))
            marks.append(Told(f"{name}: speed at 0.01, 0.5, 2 %", " ".join(
                f"{100 * clean / median_us(res[f'{name} {percent(p)}']):.1f}"
                for p in (0.0001, 0.005, 0.02)) + " %"))
        clean = median_us(res[f"{kind} of 64 0 %"])
        for p, mark in ((0.001, None), (0.01, 100 / 3)):
            name = f"{kind} of 64 {percent(p)}"
            speed = [100 * clean / r["simulated_us"] for r in res[name]]
            if mark:
                marks.append(at_least(f"{kind} of 64 hosts: speed of the lossless run at 1 %",
                                      res[name], lambda r, c=clean: 100 * c / r["simulated_us"],
                                      mark, " %"))
            else:
                marks.append(Told(f"{kind} of 64 hosts, {RANKS_SIZE[kind]}: speed at "
                                  f"{percent(p)}", f"{statistics.median(speed):.1f} %"))
    return marks


def s08_baselines(res):
    """At every size, with one and sixteen queue pairs."""
    marks = []
    for base in BASELINES:
        for kind, sizes in SIZES.items():
            for p in CHECKED:
                ratios = {(size, qps): median_us(
                    res[f"baseline {base} {kind} {size} x {qps} {percent(p)}"]) / median_us(
                        res[f"{kind} {size} 256 values {percent(p)}"])
                          for size in sizes for qps in (1, 16)
                          if has_baseline(base, kind, size)}
                least = min(ratios, key=ratios.get)
                marks.append(Mark(
                    f"{kind} {percent(p)}: speed over the baseline on {base}, least over sizes "
                    "and 1, 16 QPs", "> 1 x", f"{ratios[least]:.3f} x ({least[0]}, {least[1]} QP)",
                    ratios[least] > 1))
            for qps in (1, 16):
                name = f"baseline {base} {kind} {sizes[-1]} x {qps}"
                clean = median_us(res[f"{name} 0 %"])
                marks.append(at_most(f"{name}: speed of its lossless run at 1 %",
                                     res[f"{name} 1 %"], lambda r, c=clean:
                                     100 * c / r["simulated_us"], 10, " %"))
    return marks


WHYS = {"window": "receive window", "paths": "paths", "timer": "timer",
        "congestion": "congestion window", "answer": "answers to the last packets",
        "idle": "data of others", "turn": "port"}


def lost_time(runs, clean):
    """Time of a queue pair beyond that of the lossless run, us, by what it waited for."""
    return {why: statistics.mean(r["waits"][why] for r in runs)
            - statistics.mean(r["waits"][why] for r in clean) for why in WHYS}


def lost_row(name, runs, clean):
    lost = lost_time(runs, clean)
    return ([name, f"{median_us(runs):.0f}", f"{sum(lost.values()):.0f}"]
            + [f"{lost[why]:.1f}" for why in WHYS])


def s08_attribution(res):
    out = []
    for kind, sizes in SIZES.items():
        for paths in PATHS:
            name = f"{kind} {sizes[-1]} {paths}"
            for p in (0.001, 0.01):
                lost = lost_time(res[f"{name} {percent(p)}"], res[f"{name} 0 %"])
                out.append(Told(f"{name}, {percent(p)}: {sum(lost.values()):.0f} us lost, waiting "
                                "for", ", ".join(f"{WHYS[why]} {us:.0f}" for why, us in sorted(
                                    lost.items(), key=lambda item: -item[1]))))
    return out


def s08_sweeps(res):
    clean = median_us(res["sweep 0 %"])
    return [Told(f"ring 32MiB at {percent(SWEEP_LOSS)}: speed of the lossless run by {name}",
                 ", ".join(f"{text(v)}: {100 * clean / median_us(res[f'{name} {text(v)}']):.1f} %"
                           for v in values)) for name, (_, values, text) in SWEEPS.items()]


def s08_tables(res):
    """For the report: where time goes, at every loss and setting."""
    head = ["run", "lost"] + list(WHYS.values())
    out = []
    for kind, sizes in SIZES.items():
        for paths in PATHS:
            name = f"{kind} {sizes[-1]} {paths}"
            out.append((f"{name}: time lost of a queue pair, us, by what it waits for",
                        ["loss"] + head,
                        [lost_row(percent(p), res[f"{name} {percent(p)}"], res[f"{name} 0 %"])
                         for p in LOSSES[1:]]))
    for name, (_, values, text) in SWEEPS.items():
        out.append((f"ring 32MiB at {percent(SWEEP_LOSS)}, by {name}: the same", [name] + head, [
            lost_row(text(v), res[f"{name} {text(v)}"], res["sweep 0 %"]) for v in values]))
    return out


def s08_judge(res):
    return (s08_speeds(res) + s08_baselines(res) + s08_attribution(res) + s08_sweeps(res)
            + [no_errors(res)])


SCENARIOS = [
    Scenario("s08", "Uniform loss, all planes", "E15 .. E17", s08_variants(), s08_judge, {
        "ring 0 %: speed over": "no uplink is shared in a ring by rank, so the baseline runs at "
                                "its ceiling too: 0.5 % above ours for want of METH, TSETH and "
                                "RETH, and a hop of 400G takes a quarter of the time",
        "ring 0.1 %: speed over": "a piece of the 4 MiB ring is 64 packets: none of 256 values "
                                  "comes twice, so no order betrays a loss, while on one path the "
                                  "next packet does"}, tables=s08_tables),
]
