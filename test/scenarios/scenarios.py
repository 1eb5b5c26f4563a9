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
import subprocess
import sys
import tempfile
import time

import judge
import report
from marks import Mark

HERE = os.path.dirname(os.path.abspath(__file__))


class Runner:
    """Runs mrc-sim; keeps what it returned."""

    def __init__(self, sim, scale, jobs, limit_s):
        self.sim = sim
        self.scale = scale
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.limit_s = limit_s

    def one(self, variant, seed):
        with tempfile.TemporaryDirectory(prefix="mrc-scenario-") as folder:
            out = os.path.join(folder, "out.json")
            trace = os.path.join(folder, "trace.csv")
            command = [self.sim, "--quiet", "--seed", str(seed), "--json", out,
                       os.path.join(HERE, variant.file)]
            if self.scale != 1 and variant.scales:
                command += ["--scale", str(self.scale)]
            for key, value in variant.settings(seed).items():
                text = value if isinstance(value, str) else json.dumps(value)
                command += ["--set", f"{key}={text}"]
            if variant.trace:
                command += ["--trace", trace]
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
            return result

    def all(self, variants, seeds):
        """{variant name: [result per seed]}"""
        jobs = {(v.name, s): self.pool.submit(self.one, v, s) for v in variants for s in seeds}
        return {v.name: [jobs[v.name, s].result() for s in seeds] for v in variants}


def judge_one(scenario, runner, seeds):
    start = time.monotonic()
    results = runner.all(scenario.variants, seeds)
    marks = []
    broken = [(name, r) for name, runs in results.items() for r in runs if not r["ok"]]
    for name, r in broken[:3]:
        marks.append(Mark(f"run \"{name}\" keeps every invariant", "yes",
                                r["failure"], False, command=r.get("command", "")))
    if not broken:
        marks += scenario.judge(results)
    return {"scenario": scenario, "results": results, "marks": marks,
            "seconds": time.monotonic() - start}


def print_lines(outcome):
    scenario = outcome["scenario"]
    print(f"{scenario.name}  {scenario.title}  ({outcome['seconds']:.1f} s)")
    for mark in outcome["marks"]:
        verdict = mark.verdict(scenario)
        print(f"  {verdict.split(':')[0]:8s}{mark.text}: {mark.measured}  (mark: {mark.mark})")
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
    runner = Runner(sim, args.scale, args.jobs, args.limit)
    outcomes = []
    for scenario in wanted:
        outcome = judge_one(scenario, runner, list(range(1, args.seeds + 1)))
        print_lines(outcome)
        outcomes.append(outcome)
    path = args.report or os.path.join(args.build, "scenarios.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(report.page(outcomes, args))
    counts = {"pass": 0, "not yet": 0, "FAIL": 0}
    for o in outcomes:
        for m in o["marks"]:
            counts[m.verdict(o["scenario"]).split(":")[0]] += 1
    print(f"{counts['pass']} marks pass, {counts['not yet']} not yet, {counts['FAIL']} fail; "
          f"report: {path}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump([{"scenario": o["scenario"].name,
                        "marks": [{"text": m.text, "mark": m.mark, "measured": m.measured,
                                   "verdict": m.verdict(o["scenario"])} for m in o["marks"]]}
                       for o in outcomes], file, indent=1)
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
