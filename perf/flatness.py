#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a packet costs the simulator on one link that it crosses, from 16 to 1024 hosts.

Runs perf-1024 with 4, 8, 16 and 32 leaves, as many spines and hosts of a leaf, in turns: every round
has all sizes, so that what the machine does meanwhile meets them all. Reported is the median over
the rounds, and the median of each round's ratio to its 16 hosts. CPU time of the run alone, without
creating hosts. Small sizes run several times in a round, so that none is over in an instant.

Ends with 0 when the largest ratio is at most --limit and the slowest size at least --rate, else 1.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIO = os.path.join(HERE, "..", "test", "scenarios", "perf-1024.json")
SIDES = (4, 8, 16, 32)
REPEATS = {4: 16, 8: 4, 16: 2, 32: 1}


def run(program, side):
    """CPU seconds, packet-hops and KiB of memory of one run."""
    sets = [f"fabric.{what}={side}" for what in ("leaves", "spines", "hosts_per_leaf")]
    command = [program, "--quiet", "--json", "-"]
    for one in sets:
        command += ["--set", one]
    with subprocess.Popen(command + [SCENARIO], stdout=subprocess.PIPE) as child:
        result = json.load(child.stdout)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"flatness: mrc-sim ended with {child.returncode}")
    speed = result["speed"]
    return speed["cpu_s"], speed["cpu_s"] * speed["packet_hops_per_cpu_s"], usage.ru_maxrss


def one_round(program):
    """Nanoseconds a hop by side, and the memory."""
    cost, memory = {}, {}
    for side in SIDES:
        runs = [run(program, side) for _ in range(REPEATS[side])]
        cost[side] = sum(r[0] for r in runs) / sum(r[1] for r in runs) * 1e9
        memory[side] = max(r[2] for r in runs)
    return cost, memory


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def table(rounds):
    rows = []
    for side in SIDES:
        low, middle, high = quartiles([cost[side] for cost, _ in rounds])
        ratio = statistics.median(cost[side] / cost[SIDES[0]] for cost, _ in rounds)
        rows.append({"hosts": side * side, "ns_per_hop": middle, "ns_low": low, "ns_high": high,
                     "hops_per_cpu_s": 1e9 / middle, "ratio": ratio,
                     "mib": max(memory[side] for _, memory in rounds) / 1024})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, default=1.5, help="of the ratio to 16 hosts")
    parser.add_argument("--rate", type=float, default=1.5e6, help="packet-hops a CPU second")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    program = os.path.join(options.build, "test", "sim", "mrc-sim")
    rounds = []
    for i in range(options.rounds):
        print(f"... round {i + 1} of {options.rounds}", file=sys.stderr, flush=True)
        rounds.append(one_round(program))
    rows = table(rounds)
    good = max(r["ratio"] for r in rows) <= options.limit and \
        min(r["hops_per_cpu_s"] for r in rows) >= options.rate
    if options.json:
        print(json.dumps({"rows": rows, "rounds": options.rounds, "ok": good}, indent=1))
        return 0 if good else 1
    print("| hosts | ns a hop (quartiles) | packet-hops a CPU second | to 16 hosts | memory |")
    print("|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['hosts']} | {r['ns_per_hop']:.0f} ({r['ns_low']:.0f} .. {r['ns_high']:.0f}) | "
              f"{r['hops_per_cpu_s'] / 1e6:.2f} M | {r['ratio']:.2f} | {r['mib']:.0f} MiB |")
    print(f"largest ratio {max(r['ratio'] for r in rows):.2f} (at most {options.limit}), slowest "
          f"{min(r['hops_per_cpu_s'] for r in rows) / 1e6:.2f} M (at least {options.rate / 1e6}): "
          f"{'pass' if good else 'fail'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
