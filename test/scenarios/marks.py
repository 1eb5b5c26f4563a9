# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios, their variants and marks, and what is read out of a result.

Rates and times are those of the emulated fabric.
"""
import random

HEAD = 14 + 8 + 12 + 4 + 4 + 16 + 4  # Ethernet, UDP, BTH, METH, TSETH, RETH, ICRC


class Mark:
    def __init__(self, text, mark, measured, ok, command=""):
        self.text, self.mark, self.measured, self.ok = text, mark, str(measured), bool(ok)
        self.command = command

    def verdict(self, scenario):
        if self.ok:
            return "pass"
        for part, reason in scenario.not_yet.items():
            if part in self.text:
                return f"not yet: {reason}"
        return "FAIL"


class Variant:
    def __init__(self, name, file, sets=None, trace=False, scales=True):
        self.name, self.file, self.sets = name, file, sets or {}
        self.trace, self.scales = trace, scales

    def settings(self, seed):
        return self.sets(seed) if callable(self.sets) else self.sets


class Scenario:
    def __init__(self, name, title, source, variants, judge, not_yet=None, gated=False):
        self.name, self.title, self.source = name, title, source
        self.variants, self.judge = variants, judge
        self.not_yet, self.gated = not_yet or {}, gated


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


def worst(results, value, low=True):
    values = [value(r) for r in results]
    return min(values) if low else max(values)


def at_least(text, results, value, mark, unit="", digits=2):
    v = worst(results, value)
    bad = min(results, key=value)
    return Mark(text, f">= {mark:.{digits}f}{unit}", f"{v:.{digits}f}{unit}", v >= mark,
                bad.get("command", ""))


def at_most(text, results, value, mark, unit="", digits=2):
    v = worst(results, value, False)
    bad = max(results, key=value)
    return Mark(text, f"<= {mark:.{digits}f}{unit}", f"{v:.{digits}f}{unit}", v <= mark,
                bad.get("command", ""))


def within(text, results, value, lo, hi, unit="", digits=2):
    values = [value(r) for r in results]
    ok = all(lo <= v <= hi for v in values)
    measured = f"{min(values):.{digits}f} .. {max(values):.{digits}f}{unit}"
    return Mark(text, f"{lo:.{digits}f} .. {hi:.{digits}f}{unit}", measured, ok,
                results[0].get("command", ""))


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
