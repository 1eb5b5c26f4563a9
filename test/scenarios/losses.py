# SPDX-License-Identifier: BSD-2-Clause
"""Uniform loss on all planes, against the baseline."""
import statistics

from marks import (Mark, Scenario, Variant, at_least, at_most, ceiling, fault, no_errors, tail,
                   within)


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


SCENARIOS = [
    Scenario("s08", "Uniform loss, all planes", "E15 .. E17", s08_variants(), s08_judge),
]
