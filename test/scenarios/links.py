# SPDX-License-Identifier: BSD-2-Clause
"""A lossy link of a host; answers that are lost."""
import statistics

from marks import (MS, Mark, Scenario, Told, Variant, at_least, at_most, ceiling, conns, fault,
                   no_errors, plane_spread, within)


# ---- S12

def s12_variants():
    out = []
    for p in (5, 20, 100):
        faults = [fault("loss", 1 * MS, plane=1, host=3, rate=p / 100)]
        out.append(Variant(f"{p} %", "s12.json", {"faults": faults}))
        # Too few values may be retired to leave the plane: as if only the prober could judge.
        out.append(Variant(f"{p} % kept", "s12.json", {"faults": faults, "ev.min_active": 14}))
    return out


def s12_loss(r, p):
    """Packets taken for lost, but for trimmed ones, of p times what two flows sent on a plane."""
    sent = sum(conns(r)[i] for i in (3, 11)) / 4 * 1e3 / 8 / 4096 * 4000  # in 4 ms
    return (r["engine"]["retransmits"] - r["engine"]["rtx_by_nack"]) / (p * sent)


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
        marks.append(within(f"packets lost with {p} % loss when the plane may not be left, of the "
                            "predicted", res[f"{p} % kept"], lambda r, p=p: s12_loss(r, p / 100),
                            0.8, 1.2))
    marks.append(Mark("prober names the link", "within 2 x 5/p ms", "no prober", False))
    return marks + [no_errors(res)]


# ---- S13

S13_ANSWERS = ["sack", "nack", "ack"]


def s13_variants():
    out = [Variant("healthy", "s13.json")]
    for p in (0.01, 0.1, 0.5, 1.0):
        out.append(Variant(f"{100 * p:g} %", "s13.json", {"faults": [fault(
            "loss", 0, plane=0, rate=p, direction="host_down",
            packets=S13_ANSWERS)]}))
    # A sixteenth of the answers each: of all paths over one spine of one plane, up to all answers.
    for p in (0.01, 0.1, 0.5, 1.0):
        out.append(Variant(f"one path {100 * p:g} %", "s13.json", {"faults": [fault(
            "loss", 0, plane=0, spine=0, rate=p, direction="leaf_up", packets=S13_ANSWERS)]}))
    return out


def s13_judge(res):
    marks = []
    healthy = statistics.median(r["flows"]["gbps"]["median"] for r in res["healthy"])
    p99 = statistics.median(r["flows"]["fct_us"]["p99"] for r in res["healthy"])
    for p in ("1 %", "10 %", "50 %", "100 %"):
        marks.append(at_least(f"median goodput with {p} of one plane's answers lost", res[p],
                              lambda r: 100 * r["flows"]["gbps"]["median"] / healthy, 98, " %"))
        marks.append(at_least(f"median goodput with {p} of one reverse path's answers lost",
                              res[f"one path {p}"],
                              lambda r: 100 * r["flows"]["gbps"]["median"] / healthy, 98, " %"))
    for name in ("10 %", "one path 10 %"):
        marks.append(at_most(f"P99 completion at {name}, of healthy", res[name],
                             lambda r: r["flows"]["fct_us"]["p99"] / p99, 2))
    marks.append(Told("P99 completion of healthy, all losses", ", ".join(
        f"""{name}: {max(r['flows']['fct_us']['p99'] for r in runs) / p99:.3f}"""
        for name, runs in res.items() if name != "healthy")))
    # Answers take all GOOD values in turn (O-23 of doc/protocol.md).
    marks.append(Told("reverse value changed within 3 T of an answered probe",
                      "there is no single one that could be changed"))
    return marks + [no_errors(res)]


SCENARIOS = [
    Scenario("s12", "Lossy host link and prober", "design text", s12_variants(), s12_judge, {
        "prober names": "the prober is not built yet",
        "planes' shares": "all values of the lossy plane are retired, so the two flows that meet "
                          "it leave it; with ev.min_active 14 of 16 they cannot, and the planes "
                          "are equal"}),
    Scenario("s13", "Reverse-path trouble", "little effect apart from tail", s13_variants(),
             s13_judge, gated=True),
]
