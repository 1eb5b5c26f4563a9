# SPDX-License-Identifier: BSD-2-Clause
"""The published reference runs of NSCC: their variants, and the times that they are held to."""
import statistics

from marks import Mark, Variant, at_most, no_errors


def variants():
    out = []
    for g in (100, 400):
        f = f"cal-single-{g}.json"
        out += [Variant(f"single {g} 2 MiB", f, scales=False),
                Variant(f"single {g} 16 MiB", f, {"load.bytes": "16MiB"}, scales=False),
                Variant(f"single {g} 2 MiB near", f, {"load.second": 1}, scales=False)]
        f = f"cal-incast-{g}.json"
        out += [Variant(f"incast {g} near", f, scales=False),
                Variant(f"incast {g} far", f, {"load.second": 40}, scales=False),
                Variant(f"permutation {g}", f"cal-permutation-{g}.json", scales=False),
                Variant(f"two {g} far", f"cal-two-{g}.json", scales=False)]
    return out


# Published reference: the most, the median, the least completion time in us.
SINGLE = {"single 100 2 MiB": 179.4, "single 400 2 MiB": 50.9, "single 100 16 MiB": 1372.2,
          "single 400 16 MiB": 349.0, "single 100 2 MiB near": 174.7,
          "single 400 2 MiB near": 46.7}
INCAST = {"incast 100 near": (1371.7, 1255.4, 1051.3, 140),
          "incast 400 near": (347.1, 326.4, 273.5, 464),
          "incast 100 far": (1391.7, 1289.0, 1097.3, 287),
          "incast 400 far": (356.2, 327.4, 269.6, 1010)}
PERMUTATION = {"permutation 100": 193.2, "permutation 400": 55.1}
TWO = {"two 100 far": 2737.7, "two 400 far": 691.8}


def band(text, runs, value, ref, percent, unit=" us"):
    v = statistics.mean(value(r) for r in runs)
    return Mark(text, f"{ref:.1f}{unit} +- {percent} %", f"{v:.1f}{unit} "
                f"({100 * (v / ref - 1):+.1f} %)", abs(v / ref - 1) <= percent / 100 + 1e-9,
                runs[0].get("command", ""))


def fct(part):
    return lambda r: r["flows"]["fct_us"][part]


def judge(res):
    marks = []
    for name, ref in SINGLE.items():
        # The reference is printed to a tenth of a microsecond.
        percent = max(0.2, 100 * 0.05 / ref + 0.1)
        marks.append(band(f"{name}: completion", res[name], fct("max"), ref, round(percent, 2)))
    for name, (most, med, least, trims) in INCAST.items():
        marks.append(band(f"{name}: last completion", res[name], fct("max"), most, 2))
        marks.append(band(f"{name}: median completion", res[name], fct("median"), med, 5))
        marks.append(band(f"{name}: first completion", res[name], fct("min"), least, 15))
        marks.append(band(f"{name}: trims", res[name], lambda r: r["fabric"]["trims"], trims, 15,
                          ""))
        marks.append(at_most(f"{name}: timer expiries", res[name],
                             lambda r: r["engine"]["timeouts"], 2, digits=0))
    for name, ref in PERMUTATION.items():
        marks.append(band(f"{name}: last completion", res[name], fct("max"), ref, 6))
    for name, ref in TWO.items():
        marks.append(band(f"{name}: last completion", res[name], fct("max"), ref, 2))
    return marks + [no_errors(res)]
