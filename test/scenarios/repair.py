# SPDX-License-Identifier: BSD-2-Clause
"""How long single lost packets are missing, in unloaded round trips T, and what that is held to."""
from marks import (Mark, Variant, at_most, fault, no_errors, packet_len)

LOAD = {"alone": {"load.message": 4096, "load.depth": 1, "load.flows": [[0, 0, 4, "16MiB"]]},
        "messages of 16": {"load.message": "64KiB", "load.depth": 1},
        "full rate": {}}
PLACES = {"uplink": "leaf_up", "spine": "leaf_down", "last hop": "host_down"}
EVS = (24, 36, 40, 48)


def single(kind, where):
    return fault(kind, 0, direction=where, packets="data", nth=500, count=1, period=397,
                 max_hits=40)


def settings(**sets):
    """The round trip differs from seed to seed, so that no phase of it is met every time."""
    return lambda seed: {"fabric.delay": 993 + 7 * seed, **sets}


def variants():
    out = []
    for load, sets in LOAD.items():
        for place, where in PLACES.items():
            out.append(Variant(f"trimmed, {place}, {load}", "repair.json", settings(
                faults=[single("trim", where)], **sets)))
    # A queue that trims: three hosts of a leaf meet on its uplinks.
    out.append(Variant("trimmed, queue", "repair.json", settings(**{
        "fabric.links": [{"direction": "leaf_up", "trim_at": 12000}],
        "load.message": "128KiB", "load.depth": 1,
        "load.flows": [[0, h, 4 + h, "64MiB"] for h in range(3)]})))
    for evs in EVS:
        out.append(Variant(f"order {evs}", "repair.json", settings(**{
            "faults": [single("loss", "leaf_up")], "ev.count": evs, "ev.min_active": evs})))
    return out


def times_of(runs):
    """(median, P99) in unloaded round trips, how many."""
    times = sorted(t / (1000 * r["rtt_us"]) for r in runs for t, *_ in r["repair"]["list_ns"])
    at = [times[min(len(times) - 1, int(len(times) * q))] if times else 0 for q in (0.5, 0.99)]
    return at[0], at[1], len(times)


def mark_of(text, runs, median, p99, least=20):
    """A mark of None is only reported."""
    m, p, n = times_of(runs)
    ok = n >= least and (median is None or m <= median) and (p99 is None or p <= p99)
    want = ", ".join("-" if x is None else f"<= {x:.2f} T" for x in (median, p99))
    return Mark(text, want, f"{m:.3f}, {p:.3f} T of {n}", ok, runs[0].get("command", ""))


def judge(res):
    marks = []
    for load in LOAD:
        for place in PLACES:
            first = place == "uplink"
            marks.append(mark_of(
                f"trimmed at the {place}, {load}: median, P99", res[f"trimmed, {place}, {load}"],
                1.5 if first and load != "full rate" else None,
                1.5 if first and load == "alone" else None))
    marks.append(mark_of("trimmed by the queue of an uplink: median, P99",
                         res["trimmed, queue"], None, None))
    for evs in EVS:
        runs = res[f"order {evs}"]
        each = 1000 * runs[0]["rtt_us"] / (packet_len(srv6=False) * 8 / 400) / evs
        marks.append(mark_of(f"path order, {each:.2f} packets per value: median, P99", runs,
                             2 if each > 2.4 else None, 2 if each > 2.4 else None))
    runs = [r for many in res.values() for r in many]
    marks.append(at_most("timer expiries, all runs", runs, lambda r: r["engine"]["timeouts"], 0,
                         digits=0))
    return marks + [no_errors(res)]
