# SPDX-License-Identifier: BSD-2-Clause
"""Results to Markdown: ratios first, absolute figures beside them."""


def human(value, unit):
    if unit == "ns":
        return f"{value:.0f} ns"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.2f} {prefix}{unit}"
    return f"{value:.0f} {unit}"


def judged(summary):
    """The place with most kept pairs, or None."""
    places = [name for name in ("near", "far") if name in summary]
    return max(places, key=lambda name: summary[name]["pairs"]) if places else None


def ratio_cell(summary):
    place = judged(summary)
    if place is None:
        if "all" not in summary:
            return "no pairs"
        low, mid, high = summary["all"]["ratio"]
        return f"not judged (all pairs: {mid:.3f}, {low:.3f} .. {high:.3f})"
    low, mid, high = summary[place]["ratio"]
    return f"**{mid:.3f}** ({low:.3f} .. {high:.3f})"


def pair_cell(summary):
    place = judged(summary)
    dropped = ", ".join(f"{nb} {why}" for why, nb in sorted(summary["dropped"].items()))
    kept = summary[place]["pairs"] if place else 0
    return f"{kept} of {summary['pairs']}" + (f" ({dropped})" if dropped else "")


def ratio_row(row):
    if "error" in row:
        return f"| {row['name']} | failed: {row['error']} | | | | |"
    summary = row["summary"]
    place = judged(summary)
    shown = summary.get(place or "all")
    values = ("", "") if shown is None else tuple(
        human(shown[key], row["unit"]) for key in ("value", "reference"))
    return (f"| {row['name']} | {ratio_cell(summary)} | {place or '-'} | {values[0]} | "
            f"{values[1]} | {pair_cell(summary)} |")


def ratio_table(rows):
    head = ["| what | ratio: median (quartiles) | place | protocol | reference | pairs kept |",
            "|---|---|---|---|---|---|"]
    return head + [ratio_row(row) for row in rows]


def engine_table(bench):
    stages = ["post", "req_tx", "finish", "rsp_rx", "rsp_tx", "req_rx", "timers", "total"]
    lines = ["| cycles per data packet | " + " | ".join(stages) + " | total in ns |",
             "|---" * (len(stages) + 2) + "|"]
    for case in bench["cases"]:
        cells = [f"{case[stage][1]:.0f}" for stage in stages]
        lines.append(f"| {case['name']} | " + " | ".join(cells) +
                     f" | {case['total'][1] / bench['tsc_ghz']:.0f} |")
    return lines


def recovery_cell(role):
    if "ratio" not in role:
        return "no pairs"
    low, mid, high = role["ratio"]
    return (f"**{mid:.2f}** ({low:.2f} .. {high:.2f}), {role['engine'][1]:.0f} / "
            f"{role['plain'][1]:.0f}")


def recovery_table(bench):
    lines = ["| engine / plain partner, cycles per data packet | requester | requester, headers "
             "alone | responder | pairs kept |", "|---|---|---|---|---|"]
    for case in bench["cases"]:
        roles = [case[key] for key in ("requester", "requester_headers", "responder")]
        kept = sum(role["pairs"] for role in roles)
        lines.append(f"| {case['name']} | " + " | ".join(map(recovery_cell, roles)) +
                     f" | {kept} of {kept + sum(role['dropped'] for role in roles)} |")
    return lines


def proto_table(bench):
    wanted = ("decode write_only-v4", "decode write_only-v6", "decode sack-v6",
              "put_transport write_only-v6", "template_put v4", "template_put v6",
              "icrc_header v4", "icrc_header v6", "icrc_update 64 B", "icrc_update 1024 B",
              "icrc_update 4096 B")
    lines = ["| call | cycles | ns |", "|---|---|---|"]
    for case in bench["cases"]:
        if case["name"] in wanted:
            lines.append(f"| {case['name']} | {case['cycles']:.0f} | {case['ns']:.1f} |")
    return lines


def markdown(results):
    machine = results["machine"]
    lines = ["# Results of ./run perf", "",
             f"{results['date']}, commit {results['commit']}, {machine['cpu']}, "
             f"{machine['cpus']} CPUs, kernel {machine['kernel']}, DPDK {machine['dpdk']}, "
             f"{results['windows']} windows of {results['run_ms']} ms a run"
             + (" (quick)" if results["quick"] else "") + ".",
             "", "A ratio compares windows of one start of the program; doc/performance.md says "
             "how pairs are made and dropped. Absolute figures of this kind of machine change "
             "within seconds: they are shown, not judged. Each name says whether the ICRC was "
             "on.", ""]
    for title, key in (("Goodput against raw frames", "goodput"),
                       ("Message sizes", "sizes"),
                       ("64-byte writes and round trips", "small"),
                       ("Beside the kernel", "kernel")):
        if results.get(key):
            lines += [f"## {title}", "", *ratio_table(results[key]), ""]
    for note in results["notes"]:
        lines += [note, ""]
    if results.get("engine"):
        lines += ["## Engine, one core, two engines joined by memory", "",
                  *engine_table(results["engine"]), ""]
    if results.get("recovery"):
        lines += ["## What recovery costs where nothing is lost", "",
                  *recovery_table(results["recovery"]), ""]
    if results.get("proto"):
        lines += ["## Codec and ICRC", "", *proto_table(results["proto"]), ""]
    return "\n".join(lines)
