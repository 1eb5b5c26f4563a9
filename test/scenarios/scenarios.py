#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the scenarios with mrc-sim, judges them, prints one line per mark and writes a report.

Each scenario is a file for mrc-sim beside this program, run in variants (settings changed by
--set) with several seeds; judge.py holds the variants and the marks.
"""
import argparse
import concurrent.futures
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import judge
import report
from marks import Mark

HERE = os.path.dirname(os.path.abspath(__file__))


def frames_of(path):
    """[time in us, length on the wire, outer destination, last byte of the inner source] of a
    capture with nanosecond stamps, of IPv6 in IPv6."""
    out = []
    with open(path, "rb") as file:
        file.read(24)
        while head := file.read(16):
            seconds, ns, kept, length = struct.unpack("<4I", head)
            frame = file.read(kept)
            out.append((seconds * 1e6 + ns / 1e3, length, frame[38:54].hex(), frame[77]))
    return out


class Runner:
    """Runs mrc-sim; keeps what it returned."""

    def __init__(self, sim, scale, jobs, limit_s, compared=()):
        self.sim = sim
        self.scale = scale
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.limit_s = limit_s
        self.compared = compared  # seeds whose runs compare every byte of the payload

    def one(self, variant, seed):
        with tempfile.TemporaryDirectory(prefix="mrc-scenario-") as folder:
            out = os.path.join(folder, "out.json")
            trace = os.path.join(folder, "trace.csv")
            pcap = os.path.join(folder, "frames.pcap")
            command = [self.sim, "--quiet", "--seed", str(seed), "--json", out,
                       os.path.join(HERE, variant.file)]
            if self.scale != 1 and variant.scales:
                command += ["--scale", str(self.scale)]
            sets = variant.settings(seed)
            if seed in self.compared and sets.get("transport") != "rc":
                sets = {**sets, "load.verify": "full"}
            for key, value in sets.items():
                text = value if isinstance(value, str) else json.dumps(value)
                command += ["--set", f"{key}={text}"]
            if variant.trace:
                command += ["--trace", trace]
            if variant.frames:
                command += ["--pcap", pcap, "--pcap-link", variant.frames]
            try:
                done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      timeout=self.limit_s, check=False)
            except subprocess.TimeoutExpired:
                return {"failure": f"took longer than {self.limit_s} s", "ok": False,
                        "command": " ".join(command)}
            if not os.path.exists(out):
                text = done.stderr.decode(errors="replace").strip()
                if done.returncode < 0:
                    text = f"ended by signal {-done.returncode}: {text[-300:]}"
                return {"failure": text or f"exit {done.returncode}", "ok": False,
                        "command": " ".join(command)}
            with open(out, encoding="utf-8") as file:
                result = json.load(file)
            result["command"] = " ".join(
                f"'{word}'" if any(c in word for c in " {[\"") else word
                for word in command if word not in ("--quiet", "--json", out, "--trace", trace))
            if variant.trace:
                with open(trace, encoding="utf-8") as file:
                    result["trace"] = [line.rstrip("\n").split(",") for line in file][1:]
            if variant.frames:
                result["frames"] = frames_of(pcap)
            return result

    def all(self, variants, seeds):
        """{variant name: [result per seed]}"""
        jobs = {(v.name, s): self.pool.submit(self.one, v, s) for v in variants for s in seeds}
        return {v.name: [jobs[v.name, s].result() for s in seeds] for v in variants}


def judge_one(scenario, runner, seeds, gate):
    start = time.monotonic()
    results = runner.all([v for v in scenario.variants if v.gate or not gate], seeds)
    marks = []
    broken = [(name, r) for name, runs in results.items() for r in runs if not r["ok"]]
    for name, r in broken[:3]:
        marks.append(Mark(f"run \"{name}\" keeps every invariant", "yes",
                                r["failure"], False, command=r.get("command", "")))
    if not broken:
        marks += scenario.judge(results)
        runs = [r["verify"] for many in results.values() for r in many if "engine" in r]
        total = sum(v["bytes_verified"] for v in runs)
        if total:
            wrong = sum(v["bytes_corrupt"] for v in runs)
            marks.append(Mark(f"wrong bytes, of {total / 1e9:.1f} GB compared", "0", wrong,
                              wrong == 0))
    return {"scenario": scenario, "results": results, "marks": marks,
            "seconds": time.monotonic() - start}


def print_lines(outcome):
    scenario = outcome["scenario"]
    print(f"{scenario.name}  {scenario.title}  ({outcome['seconds']:.1f} s)")
    for mark in outcome["marks"]:
        verdict = mark.verdict(scenario)
        median = "" if mark.median in (None, mark.measured) else f", median {mark.median}"
        wanted = f"  (mark: {mark.mark})" if mark.mark else ""
        print(f"  {verdict.split(':')[0]:8s}{mark.text}: {mark.measured}{median}{wanted}")
        if verdict.startswith("not yet"):
            print(f"          {verdict.split(':', 1)[1].strip()}")
        if verdict == "FAIL" and mark.command:
            print(f"          {mark.command}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="s01 .. s16, cal, repair (all when none is given), or \"gate\": those "
                             "that ./run test judges")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"),
                        help="build directory with test/sim/mrc-sim")
    parser.add_argument("--seeds", type=int, default=5, metavar="N",
                        help="runs of each variant, seeds 1 to N (default 5)")
    parser.add_argument("--scale", type=float, default=1, help="times the size of a CI run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="runs at a time (default: one a CPU)")
    parser.add_argument("--limit", type=float, default=600, help="seconds that one run may take")
    parser.add_argument("--compare", type=int, default=1, metavar="N",
                        help="of the last N seeds every byte of the payload is compared, which "
                             "changes nothing else of a run and doubles its time (default 1)")
    parser.add_argument("--report", metavar="FILE", help="HTML (default scenarios.html in --build)")
    parser.add_argument("--json", metavar="FILE", help="marks as JSON")
    args = parser.parse_args()

    sim = os.path.join(args.build, "test", "sim", "mrc-sim")
    if not os.access(sim, os.X_OK):
        sys.exit(f"scenarios: {sim} is not there; build first (./run build) or give --build")
    gate = args.names == ["gate"]
    wanted = [s for s in judge.SCENARIOS
              if (gate and s.gated) or (not gate and (not args.names or s.name in args.names))]
    unknown = [] if gate else [n for n in args.names
                               if n not in [s.name for s in judge.SCENARIOS]]
    if unknown or not wanted:
        sys.exit(f"scenarios: no scenario {' '.join(unknown)}; there are "
                 + " ".join(s.name for s in judge.SCENARIOS))
    seeds = list(range(1, args.seeds + 1))
    runner = Runner(sim, args.scale, args.jobs, args.limit,
                    seeds[-args.compare:] if args.compare > 0 else ())
    outcomes = []
    for scenario in wanted:
        outcome = judge_one(scenario, runner, seeds, gate)
        print_lines(outcome)
        outcomes.append(outcome)
    path = args.report or os.path.join(args.build, "scenarios.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(report.page(outcomes, args))
    counts = {"pass": 0, "not yet": 0, "FAIL": 0, "told": 0}
    for o in outcomes:
        for m in o["marks"]:
            counts[m.verdict(o["scenario"]).split(":")[0]] += 1
    print(f"{counts['pass']} marks pass, {counts['not yet']} not yet, {counts['FAIL']} fail, "
          f"{counts['told']} told; report: {path}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump([{"scenario": o["scenario"].name,
                        "marks": [{"text": m.text, "mark": m.mark, "measured": m.measured,
                                   "median": m.median,
                                   "verdict": m.verdict(o["scenario"])} for m in o["marks"]]}
                       for o in outcomes], file, indent=1)
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
