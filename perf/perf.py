#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""./run perf: what the protocol costs, as ratios to frames without a protocol.

Prints the table and writes perf.json (every window) and perf.md: of a whole run to perf/results.
"""
import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

import pairs
import report
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = (8, 64, 512, 4096, 65536, 1 << 20, 64 << 20)
QUICK_SIZES = (64, 4096, 1 << 20)


def size_name(size):
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def depth_of(message):
    """About 4 MiB under way, at least 4 messages, at most 512."""
    return max(4, min(512, (4 << 20) // message))


class Session:
    """Takes measurements one after the other and keeps what came of them."""

    def __init__(self, options, scratch):
        self.options = options
        self.bench = runs.Bench(options.build, scratch, options.quick)
        self.raw = {}

    def wants(self, section):
        return not self.options.only or section in self.options.only

    def ratio(self, name, unit, metric, link, modes, metric_a=None, **settings):
        print(f"... {name}", file=sys.stderr, flush=True)
        try:
            run = self.bench.windows_of(link, modes, **settings)
        except runs.Failed as failed:
            return {"name": name, "error": str(failed)}
        self.raw[name] = run
        summary = pairs.Pairs(run, metric, metric_a).summary()
        return {"name": name, "unit": unit, "summary": summary}

    # ---- sections

    def goodput(self):
        rows = []
        for link in ("memif", "ring"):
            for pmtu in (4096, 1024):
                for icrc in (True, False):
                    raw = "raw-icrc" if icrc else "raw-copy"
                    name = f"{link}, PMTU {pmtu}, 1 MiB writes, ICRC {'on' if icrc else 'off'}"
                    rows.append(self.ratio(f"{name} / {raw.upper()}", "b/s", pairs.goodput, link,
                                           (raw, "mrc"), pmtu=pmtu, icrc=icrc))
        return rows

    def sizes(self):
        rows = []
        for size in QUICK_SIZES if self.options.quick else SIZES:
            payload = max(8, min(size, 4096))
            name = f"memif, PMTU 4096, {size_name(size)} writes, ICRC on / RAW-ICRC of {payload} B"
            rows.append(self.ratio(name, "b/s", pairs.goodput, "memif", ("raw-icrc", "mrc"),
                                   message=size, depth=depth_of(size), payload=payload,
                                   windows=max(5, self.bench.windows // 2 | 1)))
        return rows

    def small(self):
        rows = []
        for link in ("memif", "ring"):
            rows.append(self.ratio(f"{link}, 64 B writes, 1 QP, ICRC on / RAW-IO of 64 B frames",
                                   "/s", pairs.message_rate, link, ("raw-io", "mrc"),
                                   metric_a=pairs.packet_rate, pmtu=1024, message=64, depth=512,
                                   payload=64))
        for link in ("memif", "ring"):
            name = f"{link}, round trip of a 64 B write, ICRC on / raw ping-pong, p50"
            row = self.ratio(name, "ns", pairs.rtt_p50, link, ("raw-ping", "mrc"), pmtu=1024,
                             message=64, depth=1, payload=64)
            rows.append(row)
        return rows

    def tails(self):
        """p99 over p50 of each round trip measured."""
        notes = []
        for name, run in self.raw.items():
            if "round trip" not in name:
                continue
            sender = next(lane for lane in run["lanes"] if lane["side"] == "sender")
            for mode in ("raw-ping", "mrc"):
                tail = [w["rtt_p99_ns"] / w["rtt_p50_ns"] for w in sender["windows"]
                        if w["mode"] == mode and w.get("rtt_p50_ns")]
                if tail:
                    notes.append(f"{name.split(',')[0]} {mode}: p99 is "
                                 f"{statistics.median(tail):.2f} times p50 (median of windows).")
        return notes

    def testpmd(self):
        print("... dpdk-testpmd", file=sys.stderr, flush=True)
        try:
            rate = self.bench.testpmd(3 if self.options.quick else 6)
        except runs.Failed as failed:
            return [f"dpdk-testpmd: {failed}."]
        return [f"dpdk-testpmd beside it (memif, 64 B, txonly to rxonly): {rate / 1e6:.2f} M "
                "packets/s, not paired."]

    def kernel(self):
        """iperf3 and the protocol in turns; each pair of starts is one ratio."""
        name = "memif, PMTU 4096, 1 MiB writes, ICRC on / iperf3 TCP over the loopback"
        seconds, turns = (1, 2) if self.options.quick else (2, 5)
        print(f"... {name}", file=sys.stderr, flush=True)
        rows = []
        try:
            before = self.bench.iperf3(seconds)
            for _ in range(turns):
                run = self.bench.windows_of("memif", ("mrc",), windows=3)
                after = self.bench.iperf3(seconds)
                rows += self._kernel_pair(run, before, after)
                before = after
        except runs.Failed as failed:
            return [{"name": name, "error": str(failed)}]
        return [{"name": name, "unit": "b/s", "summary": self._kernel_summary(rows)}]

    @staticmethod
    def _kernel_pair(run, before, after):
        sides = {lane["side"]: lane["windows"] for lane in run["lanes"]}
        windows = sides["sender"] + sides["receiver"]
        value = statistics.median(
            pairs.goodput(s, r) for s, r in zip(sides["sender"], sides["receiver"]))
        reference = (before + after) / 2
        why = pairs.disturbed(windows)
        if why is None and abs(before - after) > pairs.MAX_DRIFT * reference:
            why = "drift"
        return [(value / reference, value, reference, pairs.place(windows), why)]

    @staticmethod
    def _kernel_summary(rows):
        out = {"pairs": len(rows), "dropped": {}}
        groups = {"near": [], "far": [], "all": rows}
        for row in rows:
            why = row[4] or (None if row[3] else "flip")
            if why:
                out["dropped"][why] = out["dropped"].get(why, 0) + 1
            else:
                groups[row[3]].append(row)
        for name, group in groups.items():
            if group:
                out[name] = {"pairs": len(group),
                             "ratio": pairs.quartiles([row[0] for row in group]),
                             "value": statistics.median(row[1] for row in group),
                             "reference": statistics.median(row[2] for row in group)}
        return out

    def one_core(self, results):
        rounds = "20" if self.options.quick else "100"
        for key, name in (("engine", "bench_engine"), ("recovery", "bench_recovery"),
                          ("proto", "bench_proto")):
            print(f"... {name}", file=sys.stderr, flush=True)
            try:
                results[key] = self.bench.bench(name, "--rounds", rounds)
            except runs.Failed as failed:
                results["notes"].append(f"{name}: {failed}.")


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              cwd=HERE).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "?"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cpus": os.cpu_count(),
            "kernel": platform.release(),
            "dpdk": output_of("pkg-config", "--modversion", "libdpdk")}


def measure(options, scratch):
    session = Session(options, scratch)
    results = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%F %R UTC"),
               "commit": output_of("git", "describe", "--always", "--dirty"),
               "machine": machine(), "quick": options.quick,
               "windows": session.bench.windows, "run_ms": session.bench.run_ms, "notes": []}
    for section in ("goodput", "sizes", "small", "kernel"):
        if session.wants(section):
            results[section] = getattr(session, section)()
    if session.wants("small"):
        results["notes"] += session.tails() + session.testpmd()
    if session.wants("cycles"):
        session.one_core(results)
    return results, session.raw


def step_forward():
    """Asks the scheduler for more weight than other work of the machine has; root only."""
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write("-20")
    except OSError:
        pass
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError:
        pass


def options_read():
    parser = argparse.ArgumentParser(prog="./run perf", description=__doc__)
    parser.add_argument("--build", default=os.path.join(HERE, "../build"),
                        help="folder with the built programs")
    parser.add_argument("--quick", action="store_true",
                        help="7 windows of 200 ms instead of 21 of 500 ms; for a first look")
    parser.add_argument("--only", action="append",
                        choices=["goodput", "sizes", "small", "kernel", "cycles"],
                        help="this section alone (may be repeated)")
    parser.add_argument("--results", help="where perf.json and perf.md go; '-' writes no files (perf/results, or "
                             "perf in --build with --quick or --only)")
    options = parser.parse_args()
    if options.results is None:
        whole = not options.quick and not options.only
        options.results = os.path.join(HERE, "results") if whole else \
            os.path.join(options.build, "perf")
    return options


def save(folder, results, raw, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "perf.md"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    with open(os.path.join(folder, "perf.json"), "w", encoding="utf-8") as file:
        json.dump(dict(results, runs=raw), file, indent=1)
        file.write("\n")


def failures(results):
    return [row for key in ("goodput", "sizes", "small", "kernel")
            for row in results.get(key, []) if "error" in row]


def main():
    options = options_read()
    scratch = tempfile.mkdtemp(prefix="mrc-perf-")
    step_forward()
    try:
        results, raw = measure(options, scratch)
    except runs.Failed as failed:
        print(f"perf: {failed}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    text = report.markdown(results)
    print(text)
    if options.results != "-":
        save(options.results, results, raw, text)
    return 1 if failures(results) else 0


if __name__ == "__main__":
    sys.exit(main())
