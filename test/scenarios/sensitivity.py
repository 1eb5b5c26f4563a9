# SPDX-License-Identifier: BSD-2-Clause
"""What the settings change."""
import statistics

from marks import (MS, Mark, Scenario, Told, Variant, at_least, between, ceiling, cut, mean,
                   no_errors, steady_min, tail)


S14_EVS = [4, 8, 16, 32, 64, 128, 256]
S14_SACKS = [1, 2, 4, 8, 16]  # packets of 4 KiB
S14_ECN = [(0.05, 0.2), (0.1, 0.4), (0.2, 0.8), (0.4, 1.0), (0.8, 1.0)]  # of a link's BDP
S14_SKIP = [0.25, 0.5, 1, 2, 4, 8, 32]  # T
S14_T_US = 9.409
S14_MPR = [1, 2, 4, 8]  # units of 128 packets; a BDP is 242 with links of 2.4 us
# No more values than paths, so that hashing does not decide.
S14_WINDOW = {"fabric.forward": "srv6", "ev.mode": "srv6", "ev.count": 16, "fabric.delay": "2400ns",
              "load.mode": "steady", "load.message": "128KiB", "load.depth": 64,
              "load.warmup": "400us", "load.duration": "1400us"}


# The fault of S7 with 20 % loss, and what else nobody has published: defaults in the middle.
S14_FAULT = {"faults": [cut("loss", 0, 0, s, 1 * MS, rate=0.2, direction="leaf_up")
                        for s in (0, 1)]}
S07_T_US = 9.409
S07_BDP = 100 / 8 * S07_T_US * 1000
S14_LOSSY = {
    "values": [(n, {"ev.count": n, "ev.spares": min(n, 32 - n)}) for n in (8, 16, 24, 32)],
    "SACK": [(f"{n}:1", {"choice": {"sack_gen_threshold": n * 4096}}) for n in S14_SACKS],
    "ECN": [(f"{lo} .. {hi} BDP", {"fabric.ecn_min": int(lo * S07_BDP),
                                   "fabric.ecn_max": int(hi * S07_BDP)}) for lo, hi in S14_ECN],
    "longest skip": [(f"{n} T", {"ev.skip_max": int(n * S07_T_US * 1000)}) for n in S14_SKIP],
    "MPR": [(f"{128 * n} packets", {"host.mpr": n}) for n in (1, 2, 4, 8)],
    "first probe": [(t, {"ev.probe": t, "ev.probe_max": "100ms"})
                    for t in ("100us", "500us", "1ms", "10ms", "100ms")],
    "answered probes": [(n, {"ev.revive": n, "ev.probe": "100us", "ev.probe_max": "100us"})
                        for n in (1, 3, 10)],
    "spares": [(n, {"ev.spares": n}) for n in (0, 8, 16)],
    "values kept": [(n, {"ev.min_active": n}) for n in (0, 4, 8, 12)],
    "trim at": [(f"{n} BDP", {"fabric.trim_at": int(n * S07_BDP),
                              "fabric.trim_last_at": int(1.5 * n * S07_BDP),
                              "fabric.drop_at": int(5 * n * S07_BDP)}) for n in (0.5, 1, 2, 3)],
    "trim size": [(n, {"fabric.trim_size": n}) for n in (138, 256, 512)],
    "ACK timer": [(t, {"host.timeout": t}) for t in (4, 6, 8)],
}


def s14_variants():
    out = [Variant(f"{n} values", "s14.json", {"ev.count": n}) for n in S14_EVS]
    out += [Variant(f"SACK {n}:1", "s14.json", {
        "choice": {"sack_gen_threshold": n * 4096}}) for n in S14_SACKS]
    bdp = 100 / 8 * S14_T_US * 1000
    out += [Variant(f"ECN {lo} .. {hi}", "s14.json", {
        "fabric.ecn_min": int(lo * bdp), "fabric.ecn_max": int(hi * bdp)}) for lo, hi in S14_ECN]
    out += [Variant(f"skip {n} T", "s14.json", {
        "ev.skip_max": int(n * S14_T_US * 1000)}) for n in S14_SKIP]
    out += [Variant(f"MPR {n}", "s14.json", {"host.mpr": n, **S14_WINDOW}) for n in S14_MPR]
    for v in out:
        v.plots = False
    out += [Variant(f"lossy path, {name} {text}", "s07.json", {**S14_FAULT, **sets}, plots=False)
            for name, settings in S14_LOSSY.items() for text, sets in settings]
    return out


def s14_lossy(res):
    """With the fault of S7: goodput from its onset to the end of C, packets lost."""
    c = ceiling(8, 100)

    def row(name, text):
        runs = res[f"lossy path, {name} {text}"]
        return [text, f"""{statistics.median(
            100 * mean(between(r, 'goodput_gbps', 1000, 5900)) / c for r in runs):.2f}""",
                f"""{statistics.median(r['lost_per_qp']['max'] for r in runs):.0f}"""]

    return {name: [row(name, text) for text, _ in settings]
            for name, settings in S14_LOSSY.items()}


def s14_tables(res):
    def tails(names):
        return [[n, f"{statistics.median(map(tail, res[n])):.1f}"] for n in names]

    out = [("Permutation: completion time of the last flow, us, median",
            ["setting", "us"], tails(n for n, runs in res.items()
                                     if not n.startswith(("lossy", "MPR"))))]
    out += [(f"One path loses 20 %, by {name}", [name, "goodput of C, %", "packets lost"], rows)
            for name, rows in s14_lossy(res).items()]
    return out


def s14_judge(res):
    marks = []
    tails = [statistics.median(map(tail, res[f"{n} values"])) for n in S14_EVS]
    marks.append(Mark("tail from 4 to 16 values, the number of paths, does not rise", "<= 1.00 x",
                      f"{max(tails[1] / tails[0], tails[2] / tails[1]):.3f} x",
                      tails[0] >= tails[1] >= tails[2]))
    marks.append(Mark("tail from 16 to 256 values does not rise", "<= 1.03 x",
                      f"{max(tails[3:]) / tails[2]:.3f} x", max(tails[3:]) <= 1.03 * tails[2]))
    one = statistics.median(map(tail, res["SACK 1:1"]))
    eight = statistics.median(map(tail, res["SACK 8:1"]))
    marks.append(Mark("tail with SACKs 8:1 against 1:1", "<= 1.05 x", f"{eight / one:.3f} x",
                      eight <= 1.05 * one))
    for what, names, usual in (
            ("SACKs 1:1 .. 16:1", [f"SACK {n}:1" for n in S14_SACKS], "SACK 4:1"),
            ("ECN from 0.05 to 1 BDP", [f"ECN {lo} .. {hi}" for lo, hi in S14_ECN],
             "ECN 0.2 .. 0.8"),
            ("longest skip 0.25 .. 32 T", [f"skip {n} T" for n in S14_SKIP], "skip 32 T")):
        tails = {n: statistics.median(map(tail, res[n])) for n in names}
        best = min(tails, key=tails.get)
        marks.append(Mark(f"tail with the default ({usual}) of the best over {what}", "<= 1.10 x",
                          f"{tails[usual] / tails[best]:.3f} x ({best})",
                          tails[usual] <= 1.1 * tails[best]))
    c = ceiling(4, 100)
    for n in S14_MPR:
        if n >= 4:
            marks.append(at_least(f"slowest flow with an MPR of {128 * n / 242:.1f} BDP, of C",
                                  res[f"MPR {n}"], lambda r: 100 * steady_min(r) / c, 97, " %"))
    marks += [Told(f"one path loses 20 %: goodput of C and packets lost, by {name}", ", ".join(
        f"{text}: {goodput} % {lost}" for text, goodput, lost in rows))
              for name, rows in s14_lossy(res).items()]
    return marks + [no_errors(res)]


SCENARIOS = [
    Scenario("s14", "Sensitivity sheet", "32/64/128 paths", s14_variants(), s14_judge,
             tables=s14_tables),
]
