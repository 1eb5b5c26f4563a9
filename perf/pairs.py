# SPDX-License-Identifier: BSD-2-Clause
"""Windows of alternating modes to paired ratios.

A run is A B A B ... A. Each B is compared with the mean of the two A beside it. A pair is dropped
when the machine changed under it:

  busy      a thread ran less than 90 % of a window: other work had its CPU
  stalled   more than 10 % of a window passed in turns longer than 100 us
  drift     the two A differ by more than 15 %
  flip      the canary saw the two CPUs change between sharing a cache and not
  idle      a window moved nothing

Nothing is judged by what was dropped; how much was dropped, and why, is reported.
"""
import statistics

NEAR_NS = 150  # a cache line's round trip below this: the CPUs share a cache
MIN_CPU = 0.90
MAX_STALL = 0.10
MAX_DRIFT = 0.15


def per_second(amount, window):
    """0 for a window that a thread slept through."""
    return amount / window["seconds"] if window["seconds"] > 0 else 0


def goodput(sender, receiver):
    """Payload bits per second that reached the receiver's memory."""
    return per_second(receiver["rx_bytes"] * 8, receiver)


def packet_rate(sender, receiver):
    return per_second(receiver["rx_packets"], receiver)


def message_rate(sender, receiver):
    return per_second(sender["messages"], sender)


def rtt_p50(sender, receiver):
    return sender.get("rtt_p50_ns", 0)


def rtt_p99(sender, receiver):
    return sender.get("rtt_p99_ns", 0)


def place(windows):
    """near, far, or None when the windows' canaries disagree or did not run."""
    seen = set()
    for window in windows:
        for key in ("canary_before_ns", "canary_after_ns"):
            if window[key] > 0:
                seen.add("near" if window[key] < NEAR_NS else "far")
    return seen.pop() if len(seen) == 1 else None


def disturbed(windows):
    for window in windows:
        if window["cpu_seconds"] < MIN_CPU * window["seconds"]:
            return "busy"
        if window["stalled_seconds"] > MAX_STALL * window["seconds"]:
            return "stalled"
    return None


def quartiles(values):
    if len(values) < 2:
        return [values[0]] * 3 if values else None
    return statistics.quantiles(values, n=4, method="inclusive")


class Pairs:
    """The paired ratios of one run, by place."""

    def __init__(self, run, metric_b, metric_a=None, mode_b="mrc"):
        self.kept = {"near": [], "far": []}  # ratio, B, A
        self.all = []
        self.dropped = {}
        metric_a = metric_a or metric_b
        sides = {lane["side"]: lane["windows"] for lane in run["lanes"]}
        both = list(zip(sides["sender"], sides["receiver"]))
        for before, now, after in zip(both, both[1:], both[2:]):
            if now[0]["mode"] == mode_b and before[0]["mode"] != mode_b:
                self._take(before, now, after, metric_b, metric_a)

    def _take(self, before, now, after, metric_b, metric_a):
        a1, a2, b = metric_a(*before), metric_a(*after), metric_b(*now)
        windows = [*before, *now, *after]
        if min(a1, a2, b) <= 0:
            self._drop("idle")
            return
        a = (a1 + a2) / 2
        self.all.append((b / a, b, a))
        where = place(windows)
        why = disturbed(windows)
        if why is None and abs(a1 - a2) > MAX_DRIFT * a:
            why = "drift"
        if why is None and where is None:
            why = "flip"
        if why is None:
            self.kept[where].append((b / a, b, a))
        else:
            self._drop(why)

    def _drop(self, why):
        self.dropped[why] = self.dropped.get(why, 0) + 1

    def summary(self):
        """What a report needs: per place the number of pairs, the ratio's quartiles, medians of
        B and A; and the same over all pairs, judged or not."""
        out = {"dropped": self.dropped, "pairs": len(self.all) + self.dropped.get("idle", 0)}
        for name, rows in (("near", self.kept["near"]), ("far", self.kept["far"]),
                           ("all", self.all)):
            if rows:
                out[name] = {
                    "pairs": len(rows),
                    "ratio": quartiles([row[0] for row in rows]),
                    "value": statistics.median(row[1] for row in rows),
                    "reference": statistics.median(row[2] for row in rows),
                }
        return out
