# SPDX-License-Identifier: BSD-2-Clause
"""Clean runs: a pair at every size, a permutation that fills the uplinks."""
import statistics

from marks import (Mark, Scenario, Told, Variant, at_least, at_most, ceiling, no_errors,
                   steady_min)


# ---- S1

S01_LARGE = ["32KiB", "256KiB", "4MiB", "64MiB"]
S01_SMALL = [1, 64, 1024, "4KiB", "16KiB"]
S01_DEPTH = {"32KiB": 128, "256KiB": 16, "4MiB": 3, "64MiB": 2}


def s01_variants():
    out = []
    for place, second in (("near", 1), ("far", 2)):
        for size in S01_LARGE + S01_SMALL:
            for qps in (1, 4):
                sets = {"load.second": second, "load.message": size, "load.qps": qps,
                        "load.depth": S01_DEPTH.get(size, 128)}
                long = size == "64MiB"
                if long:
                    sets["load.duration"] = "4ms"
                out.append(Variant(f"{place} {size} x {qps}", "s01.json", sets, plots=False,
                                   gate=not long and size in S01_LARGE))
        for qps in (1, 4):
            out.append(Variant(f"{place} pmtu 1024 x {qps}", "s01.json", {
                "load.second": second, "host.pmtu": 1024, "host.mpr": 32, "load.depth": 16,
                "load.qps": qps}, gate=qps == 1, plots=False))
        out.append(Variant(f"{place} 2 B", "s01.json", {
            "load.second": second, "load.mode": "flows", "load.bytes": 2, "load.message": 64,
            "load.rounds": 20, "load.round_gap": "100us"}, scales=False))
    return out


def s01_goodput(res):
    """Of what the planes carry, by size; for the report, sizes without a mark too."""
    head = ["placement, QPs"] + [str(s) for s in S01_SMALL + S01_LARGE]
    return [("Goodput of C, %, median", head, [
        [f"{place}, {qps}"] + [f"""{100 * statistics.median(
            map(steady_min, res[f'{place} {size} x {qps}'])) / ceiling(8, 100):.1f}"""
                               if f"{place} {size} x {qps}" in res else "-"
                               for size in S01_SMALL + S01_LARGE]
        for place in ("near", "far") for qps in (1, 4)])]


def s01_judge(res):
    marks = []
    c = ceiling(8, 100)
    for place in ("near", "far"):
        runs = [r for size in S01_LARGE for qps in (1, 4)
                for r in res.get(f"{place} {size} x {qps}", [])]
        marks.append(at_least(f"goodput {place}, 32 KiB and above, of C", runs,
                              lambda r: 100 * steady_min(r) / c, 99, " %"))
        marks.append(at_least(f"goodput {place}, PMTU 1024, of C", [
            r for qps in (1, 4) for r in res.get(f"{place} pmtu 1024 x {qps}", [])],
                              lambda r: 100 * steady_min(r) / ceiling(8, 100, 1024), 99, " %"))
    gaps = []
    for what in S01_LARGE + ["pmtu 1024"]:
        for qps in (1, 4):
            if f"near {what} x {qps}" not in res:
                continue
            near = statistics.median(map(steady_min, res[f"near {what} x {qps}"]))
            far = statistics.median(map(steady_min, res[f"far {what} x {qps}"]))
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
    _, head, rows = s01_goodput(res)[0]
    marks += [Told(f"goodput {row[0]} QPs, of C, at {', '.join(head[1:])}", " ".join(row[1:]))
              for row in rows]
    return marks + [no_errors(res)]


# ---- S2

S02_FLOWS = [[0, i, 8 + i, "8MiB"] for i in range(8)]
# Its fabric pauses instead of dropping; here queues have room for all that is under way.
S02_RC = {"transport": "rc", "load.mode": "flows", "load.flows": S02_FLOWS,
          "fabric.forward": "ecmp", "ev.mode": "stev", "fabric.drop_at": "1GiB"}


def s02_judge(res):
    c = ceiling(1, 400)
    marks = []
    for name in ("1 QP", "8 QPs"):
        runs = res[name]
        marks.append(at_least(f"slowest flow of C, {name}", runs,
                              lambda r: 100 * steady_min(r) / c, 97, " %"))
        marks.append(at_least(f"slowest over fastest flow, {name}", runs, lambda r:
                              steady_min(r) / r["goodput"]["steady_gbps"]["max"], 0.97))
        marks.append(at_least(f"Jain index of flows, {name}", runs, lambda r:
                              r["goodput"]["steady_gbps"]["jain"], 0.98, "", 4))
        marks.append(at_most(f"uplink load, max over mean, {name}", runs, lambda r:
                             r["fabric"]["links"]["leaf_up"]["load_max_over_mean"], 1.05))
    # Every seed: a hash that does not collide would prove that the fabric does not hash.
    marks.append(at_most("baseline's slowest flow of C, 1 QP", res["baseline 1 QP"], lambda r:
                         r["flows"]["gbps"]["min"] / ceiling(1, 400, srv6=False), 0.55))
    marks.append(Told("baseline's slowest and fastest flow of C, 8 QPs", " and ".join(
        f"{pick(r['flows']['gbps'][pick.__name__] for r in res['baseline 8 QPs']) / c:.2f}"
        for pick in (min, max))))
    return marks + [no_errors(res)]


SCENARIOS = [
    Scenario("s01", "Clean pair sweep", "E5", s01_variants(), s01_judge, gated=True,
             tables=s01_goodput),
    Scenario("s02", "Permutation at full uplinks", "E21", [
        Variant("1 QP", "s02.json"), Variant("8 QPs", "s02.json", {"load.qps": 8, "load.depth": 2}),
        Variant("baseline 1 QP", "s02.json", S02_RC, scales=False),
        Variant("baseline 8 QPs", "s02.json", {**S02_RC, "load.qps": 8}, scales=False)],
             s02_judge, gated=True),
]
