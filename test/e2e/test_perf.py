#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The measuring commands and the doctor, as a user runs them: that windows hold what they say, not
how fast they are."""
import json
import os
import re
import signal
import sys
import tempfile

from common import (BUILD, MRC_DP, ROOT, Process, Skip, TooSlow, case, documented, equal, long_enough, main, run,
                    true, wait_until, write_json)

sys.path.insert(0, os.path.join(ROOT, "perf"))
import pairs  # noqa: E402
import runs  # noqa: E402

WINDOWS = 5
LENGTHS_MS = (60, 500, 3000)  # a side may get no CPU at all in a short window


def bench(scratch, run_ms):
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("needs two CPUs")
    out = runs.Bench(BUILD, scratch, True)
    out.run_ms = run_ms
    return out


def check_windows(out, modes):
    """Both sides follow the table; what a raw sender sent and a receiver placed are whole frames;
    the protocol's receiver placed payload; nothing was corrupt."""
    equal(sorted(lane["side"] for lane in out["lanes"]), ["receiver", "sender"])
    for lane in out["lanes"]:
        equal(len(lane["windows"]), WINDOWS)
        for index, window in enumerate(lane["windows"]):
            equal(window["mode"], modes[index % len(modes)])
            equal(window["bad"], 0)
    moved = {mode: 0 for mode in modes}
    for lane in out["lanes"]:
        if lane["side"] == "receiver":
            for window in lane["windows"]:
                moved[window["mode"]] += window["rx_packets"]
                if window["mode"] == "raw-icrc":
                    equal(window["rx_bytes"], window["rx_packets"] * 4096)
    if not all(moved.values()):
        print(f"    packets by mode: {moved}")
        raise TooSlow


def windows_over(link):
    def attempt(run_ms):
        with tempfile.TemporaryDirectory() as scratch:
            out = bench(scratch, run_ms).windows_of(link, ("raw-icrc", "mrc"), windows=WINDOWS)
            check_windows(out, ("raw-icrc", "mrc"))
            return out

    return long_enough(attempt, *LENGTHS_MS)


@case
def test_ring_windows():
    equal(pairs.Pairs(windows_over("ring"), pairs.goodput).summary()["pairs"], 2)


@case
def test_memif_windows():
    windows_over("memif")


def round_trips(run_ms):
    with tempfile.TemporaryDirectory() as scratch:
        out = bench(scratch, run_ms).windows_of("ring", ("raw-ping", "mrc"), windows=WINDOWS, pmtu=1024,
                                                message=64, depth=1, payload=64)
        sender = next(lane for lane in out["lanes"] if lane["side"] == "sender")
        for mode in ("raw-ping", "mrc"):
            trips = [w for w in sender["windows"] if w["mode"] == mode and "round_trips" in w]
            if not trips:
                raise TooSlow
            true(all(0 < w["rtt_p50_ns"] <= w["rtt_p99_ns"] for w in trips), f"{mode} in order")


@case
def test_round_trips():
    long_enough(round_trips, *LENGTHS_MS)


def ring_file(scratch):
    return write_json(scratch, "ring.json", {
        "endpoints": [{"name": name, "address": f"fd00::{i + 1}",
                       "planes": [{"device": "direct"}]} for i, name in enumerate("ab")]})


@case
def test_raw_command_prints_a_table():
    with tempfile.TemporaryDirectory() as scratch:
        path = ring_file(scratch)
        out = run([MRC_DP, "raw", "-c", path, "--windows", "4", "--run", "20ms"])
        equal(out.code, 0)
        for mode in ("raw-io", "raw-copy", "raw-icrc", "raw-ping"):
            equal(out.out.count(mode + " "), 2)
        out = run([MRC_DP, "perf", "-c", path, "--windows", "2", "--run", "20ms", "--json"])
        documented(json.loads(out.out), "doc/userguide.md")


@case
def test_a_signal_ends_a_measurement():
    """Long before its 8 hours are over, and with nothing that could be taken for a result."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [MRC_DP, "raw", "-c", ring_file(scratch), "--windows", "512", "--run", "60s"]
        for start, number in (([], signal.SIGINT), ([], signal.SIGHUP), (["nohup"], signal.SIGINT)):
            with Process(start + command) as child:
                folder = f"/proc/{child.child.pid}"
                wait_until("two lanes run", lambda folder=folder: len(os.listdir(f"{folder}/task")) > 2)
                with open(f"{folder}/status", encoding="utf-8") as status:
                    ignored = re.search(r"^SigIgn:\s*(\w+)", status.read(), re.M)[1]
                equal(int(ignored, 16) >> signal.SIGHUP - 1 & 1, len(start), "hang-up ignored")
                child.child.send_signal(number)
                equal(child.wait(), 4)
                true("interrupted" in child.text(), child.text())
                equal(child.text("out"), "")


def two_sides(scratch, syncs):
    """Exit codes of both sides of a measurement over memif, what they said, and the files left."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("needs two CPUs")
    codes, texts, files = [], [], []
    for index, (role, work, oob) in enumerate((("server", "responder", "listen"),
                                               ("client", "requester", "connect"))):
        files.append(write_json(scratch, f"{role}.json", {
            "lcores": str(sorted(os.sched_getaffinity(0))[index]),
            "endpoints": [{"name": role, "address": f"fd00::{index}", "planes": [
                {"device": f"net_memif0,role={role},id=0,socket={scratch}/memif,socket-abstract=no"}]}],
            "pmtu": 1024, "workload": {"role": work}, "oob": {oob: f"unix:{scratch}/oob"}}))
    paths = [os.path.join(scratch, sync) for sync in syncs]
    words = ["--windows", "2", "--run", "20ms"]
    with Process([MRC_DP, "raw", "-c", files[0], "--sync", paths[0], *words]) as first, \
            Process([MRC_DP, "raw", "-c", files[1], "--sync", paths[1], *words]) as second:
        for side in (first, second):
            codes.append(side.wait())
            texts.append(side.text())
    return codes, texts, [path for path in paths if os.path.exists(path)]


@case
def test_two_sides_meet_in_a_file():
    """It is gone once both have it, so that the same command works again."""
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(2):
            codes, texts, left = two_sides(scratch, ("sync", "sync"))
            equal(codes, [0, 0], texts)
            equal(left, [])


@case
def test_two_sides_with_two_files_do_not_wait_for_ever():
    with tempfile.TemporaryDirectory() as scratch:
        codes, texts, left = two_sides(scratch, ("one", "two"))
        equal(codes, [1, 1], texts)
        true(all("both need the same file" in text for text in texts), texts)
        equal(left, [])


@case
def test_wrong_usage():
    out = run([MRC_DP, "perf"])
    equal(out.code, 2)
    true("-c FILE is missing" in out.err, out.err)
    for words, reason in ((("--windows", "0"), "--windows 0: want a number from 1 to 512"),
                          (("--run", "1"), "--run 1: want a time"), (("--modes", "mrc,x"), "want up to 8 of"),
                          (("--run",), "--run wants a value"), (("--bogus",), "--bogus is no option")):
        out = run([MRC_DP, "raw", "-c", "config", *words])
        equal(out.code, 2)
        true(reason in out.err and len(out.err.splitlines()) == 1, out.err)
    with tempfile.TemporaryDirectory() as scratch:
        path = write_json(scratch, "fabric.json", {
            "endpoints": [{"name": name, "address": f"fd00::{i + 1}",
                           "planes": [{"device": "fabric"}]} for i, name in enumerate("ab")],
            "fabric": {"leaves": 2, "spines": 2}})
        out = run([MRC_DP, "perf", "-c", path])
        equal(out.code, 1)
        true("fabric.json" in out.err and "device" in out.err, out.err)
        path = os.path.join(ROOT, "config", "memif-a.json")
        out = run([MRC_DP, "raw", "-c", path])
        equal(out.code, 1)
        true("--sync is missing" in out.err, out.err)
        stale = os.path.join(scratch, "sync")
        with open(stale, "wb") as file:
            file.write(b"\x01" * 4096)
        out = run([MRC_DP, "raw", "-c", path, "--sync", stale])
        equal(out.code, 1)
        true("left over" in out.err and stale in out.err, out.err)


@case
def test_doctor():
    out = run([MRC_DP, "doctor", "--json"])
    report = json.loads(out.out)
    equal(out.code, 1 if report["verdict"] == "FAIL" else 0)
    documented(report, "doc/userguide.md")
    topics = {check["topic"] for check in report["checks"]}
    true({"cpus", "isolation", "memory", "rights"} <= topics, topics)
    with tempfile.TemporaryDirectory() as scratch:
        path = write_json(scratch, "veth.json", {
            "endpoints": [{"name": "a", "address": "10.9.9.1", "planes": [
                {"device": "net_af_packet0,iface=mrc-nowhere"}]}],
            "workload": {"role": "requester"}, "oob": {"connect": "unix:/tmp/x"}})
        out = run([MRC_DP, "doctor", "-c", path])
        equal(out.code, 1)
        true("mrc-nowhere" in out.out and "FAIL" in out.out, out.out)


main()
