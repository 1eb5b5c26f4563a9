# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios, their variants and marks, and what is read out of a result.

Rates and times are those of the emulated fabric.
"""
import random
import statistics

HEAD = 14 + 8 + 12 + 4 + 4 + 16 + 4  # Ethernet, UDP, BTH, METH, TSETH, RETH, ICRC


class Mark:
    """A criterion; judged by the worst run, the median of all stands beside it."""

    def __init__(self, text, mark, measured, ok, command="", median=None):
        self.text, self.mark, self.measured, self.ok = text, mark, str(measured), bool(ok)
        self.command, self.median = command, median

    def verdict(self, scenario):
        if self.ok:
            return "pass"
        for part, reason in scenario.not_yet.items():
            if part in self.text:
                return f"not yet: {reason}"
        return "FAIL"


class Told(Mark):
    """What the definition wants to be told, without a mark."""

    def __init__(self, text, measured):
        super().__init__(text, "", measured, True)

    def verdict(self, scenario):
        return "told"


class Variant:
    """trace: read what the engines trace. scales: --scale applies. plots: in the report.
    gate: also run where ./run test judges. frames: links of which r["frames"]
    lists [time in us, length, outer destination, inner source's last byte]."""

    def __init__(self, name, file, sets=None, trace=False, scales=True, plots=True,
                 gate=True, frames=None):
        self.name, self.file, self.sets = name, file, sets or {}
        self.trace, self.scales, self.plots, self.gate = trace, scales, plots, gate
        self.frames = frames

    def settings(self, seed):
        return self.sets(seed) if callable(self.sets) else self.sets


class Scenario:
    """not_yet: reasons by a part of a mark's text. tables: results to [(title, head, rows)]."""

    def __init__(self, name, title, source, variants, judge, not_yet=None, gated=False,
                 tables=None):
        self.name, self.title, self.source = name, title, source
        self.variants, self.judge = variants, judge
        self.not_yet, self.gated, self.tables = not_yet or {}, gated, tables


# ---- helpers

def packet_len(pmtu=4096, srv6=True, overhead=24):
    return HEAD + 40 + (40 if srv6 else 0) + pmtu + overhead


def ceiling(planes, gbps, pmtu=4096, srv6=True):
    """Gb/s"""
    return planes * gbps * pmtu / packet_len(pmtu, srv6)


def fault(kind, at, until=0, **more):
    f = {"kind": kind, "at": int(at)}
    if until:
        f["for"] = int(until - at)
    f.update(more)
    return f


def cut(kind, plane, leaf, spine, at, until=0, **more):
    return fault(kind, at, until, plane=plane, leaf=leaf, spine=spine, **more)


US = 1000
MS = 1000000


def between(result, column, start_us, end_us):
    s = result["series"]
    return [v for t, v in zip(s["t_us"], s[column]) if start_us < t <= end_us]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def bins(result, column, start_us, end_us, width_us):
    """Means over consecutive windows."""
    out, t = [], start_us
    while t + width_us <= end_us:
        out.append(mean(between(result, column, t, t + width_us)))
        t += width_us
    return out


def judged(text, results, value, mark, unit, digits, low):
    """By the lowest value or the highest."""
    values = [value(r) for r in results]
    v = min(values) if low else max(values)
    return Mark(text, f"{'>=' if low else '<='} {mark:.{digits}f}{unit}", f"{v:.{digits}f}{unit}",
                v >= mark if low else v <= mark, results[values.index(v)].get("command", ""),
                f"{statistics.median(values):.{digits}f}{unit}")


def at_least(text, results, value, mark, unit="", digits=2):
    return judged(text, results, value, mark, unit, digits, True)


def at_most(text, results, value, mark, unit="", digits=2):
    return judged(text, results, value, mark, unit, digits, False)


def within(text, results, value, lo, hi, unit="", digits=2):
    values = [value(r) for r in results]
    ok = all(lo <= v <= hi for v in values)
    measured = f"{min(values):.{digits}f} .. {max(values):.{digits}f}{unit}"
    bad = next((r for r, v in zip(results, values) if not lo <= v <= hi), results[0])
    return Mark(text, f"{lo:.{digits}f} .. {hi:.{digits}f}{unit}", measured, ok,
                bad.get("command", ""), f"{statistics.median(values):.{digits}f}{unit}")


def steady_min(r):
    return r["goodput"]["steady_gbps"]["min"]


def plane_spread(r):
    sent = [x["tx_data_packets"] for x in r["engine"]["planes"]]
    return max(sent) / min(sent)


def tail(r):
    return r["flows"]["fct_us"]["max"]


def conns(r):
    return r["goodput"]["steady_per_conn"]


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


def qp_errors(r):
    return r["engine"]["qp_errors"]


def no_errors(results):
    runs = [r for many in results.values() for r in many if "engine" in r]
    return at_most("QPs in error, all runs", runs, qp_errors, 0, digits=0)


def seeded(seed, name):
    return random.Random(f"{name} {seed}")
