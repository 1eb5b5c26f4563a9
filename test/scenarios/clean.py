# SPDX-License-Identifier: BSD-2-Clause
"""Clean runs: a pair at every size, a permutation that fills the uplinks."""
import statistics

from marks import (Mark, Scenario, Variant, at_least, at_most, ceiling, mean, no_errors,
                   steady_min)


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


SCENARIOS = [
    Scenario("s01", "Clean pair sweep", "E5", s01_variants(), s01_judge, gated=True),
    Scenario("s02", "Permutation at full uplinks", "E21", [
        Variant("1 QP", "s02.json"), Variant("8 QPs", "s02.json", {"load.qps": 8, "load.depth": 2}),
        Variant("baseline 1 QP", "s02.json", {
            "transport": "rc", "load.mode": "flows", "load.flows": S02_FLOWS,
            "fabric.forward": "ecmp", "ev.mode": "stev"}, scales=False)],
             s02_judge, gated=True),
]
