# SPDX-License-Identifier: BSD-2-Clause
"""What the settings change."""
import statistics

from marks import (Mark, Scenario, Variant, at_least, ceiling, no_errors, steady_min, tail)


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
    return out


def s14_judge(res):
    marks = []
    tails = [statistics.median(map(tail, res[f"{n} values"])) for n in S14_EVS]
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
    return marks + [no_errors(res)]


SCENARIOS = [
    Scenario("s14", "Sensitivity sheet", "32/64/128 paths", s14_variants(), s14_judge),
]
