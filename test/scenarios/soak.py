# SPDX-License-Identifier: BSD-2-Clause
"""Long runs under random faults."""
import statistics

from marks import (US, Mark, Scenario, Variant, at_least, at_most, fault, no_errors,
                   within)


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
    Scenario("s16", "Soak and restart", "none", [
        Variant("healthy", "s16.json"),
        Variant("storm", "s16.json", S16_STORM),
        Variant("storm and new QPs", "s16.json", {**S16_STORM, "churn": {"every": "500us"}}),
        Variant("a host loses all ports", "s16.json", {
            "faults": [fault("carrier", 600 * US, host=S16_DEAD)], "load.rounds": 4,
            "host.linear_retries": 2, "host.exponential_retries": 3}, scales=False)], s16_judge,
             gated=True),
]
