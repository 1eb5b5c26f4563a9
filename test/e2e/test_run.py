#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""One process, two endpoints: several workers, bad planes, tags, few cores, no privileges."""
import os
import shutil
import signal
import stat
import tempfile

from common import (MRC_DP, Process, Skip, TooSlow, case, documented, equal, long_enough, main, only_json, run, true,
                    wait_until, write_json)

CORES = sorted(os.sched_getaffinity(0))
WINDOW = {"algorithm": "fixed", "max_cwnd": "1MiB"}


def config(device, planes=4, workers=(1, 1), addresses=("10.77.0.1", "10.77.0.2"), plane=None, **more):
    document = {
        "endpoints": [{"name": name, "address": address, "workers": nb,
                       "planes": [{"device": device, **(plane or {})} for _ in range(planes)]}
                      for name, address, nb in zip("ab", addresses, workers)],
        "congestion": WINDOW,
        "workload": {"qps": 6, "message": 100000, "depth": 4, "messages": 3000},
    }
    document.update(more)
    return document


def good(document, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", document)
        done = run([MRC_DP, "run", "-c", path, "--json", *options])
    equal(done.code, 0, done.err[-1500:] + done.out[-1500:])
    result = only_json(done.out)
    equal(result["bytes_corrupt"], 0, "corrupt")
    equal(result["bytes_verified"], result["bytes"], "verified")
    equal(result["qp_errors"], 0, "QP errors")
    true(result["bytes"] > 0, "bytes")
    return result


@case
def workers_in_unequal_numbers():
    for workers in ((3, 1), (1, 3), (2, 2)):
        result = good(config("direct", workers=workers))
        equal(result["messages"], 3000, "messages")


@case
def both_directions_with_immediates():
    load = {"qps": 5, "message": 30000, "depth": 3, "messages": 2000, "bidirectional": True,
            "immediate_percent": 50}
    result = good(config("direct", workers=(2, 1), workload=load))
    equal(result["messages"], 4000, "messages of both sides")
    true(result["immediates"] > 1500, f"{result['immediates']} immediates")
    equal(result["immediates_corrupt"], 0, "immediates corrupt")


@case
def bad_planes_and_frames_for_the_other_worker():
    fabric = {"leaves": 2, "spines": 2, "rate": "2Gbps", "delay": "5us", "faults": [
        {"kind": "loss", "rate": "1%"}, {"kind": "duplicate", "rate": "1%"},
        {"kind": "reorder", "rate": "5%", "delay": "100us"}, {"kind": "corrupt", "rate": "0.5%"},
        {"kind": "carrier", "plane": 2, "at": "100ms", "for": "200ms"}]}
    result = good(config("fabric", workers=(2, 2), fabric=fabric,
                         addresses=("fd00::1", "fd00::2")))
    true(result["retransmitted_packets"] > 0, "losses were repaired")
    true(result["workers"]["handed_over"] > 0, "frames went to the worker that owns the QP")
    true(result["drops"].get("icrc", 0) > 0, f"damage was seen: {result['drops']}")


@case
def tagged_frames():
    good(config("direct", planes=2, plane={"vlan": 5, "vlan_priority": 3}))


@case
def every_path_mtu():
    load = {"qps": 6, "message": 100000, "depth": 4, "messages": 300}
    for pmtu in (256, 512, 1024, 2048, 4096):
        good(config("direct", planes=2, pmtu=pmtu, workload=load))


@case
def open_loop_posts_nothing_before_it_is_due():
    """However fast the machine: the last of n messages leaves n - 1 gaps after the first."""
    load = {"qps": 2, "message": 50000, "depth": 64, "messages": 400, "rate": "200Mbps"}
    result = good(config("direct", planes=2, workload=load))
    equal(result["messages"], 400, "messages")
    least = 399 * 50000 * 8 / 200e6
    true(result["seconds"] >= least, f"{result['seconds']} s for what takes {least} s at the rate given")
    load["poisson"] = True
    equal(good(config("direct", planes=2, workload=load))["messages"], 400, "messages at random gaps")


@case
def failed_requests_say_how():
    """All planes are silent: the retries end, the QP fails, what is left is flushed."""
    document = config("fabric", planes=1, qp={"timeout": 6, "exponential_retries": 1},
                      fabric={"faults": [{"kind": "silent_discard"}]},
                      workload={"qps": 1, "message": 5000, "depth": 8, "messages": 8})
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", document)
        done = run([MRC_DP, "run", "-c", path, "--json"])
        equal(done.code, 1, done.err)
        result = only_json(done.out)
        documented(result, "doc/userguide.md", free=("drops", "neighbours"))
        equal(result["failures"], {"retry_counter_exceeded": 1, "work_request_flushed": 7})
        equal(result["failed_requests"], 8)
        text = run([MRC_DP, "run", "-c", path, "--quiet"]).out
        true("work request flushed 7, retry counter exceeded 1" in text, text)
    equal(good(config("direct"))["failures"], {})


@case
def one_core_is_enough():
    good(config("fabric", fabric={"rate": "1Gbps", "delay": "5us"}), "-l", str(CORES[0]))


@case
def two_lcores_on_one_cpu_are_not_both_used():
    one = CORES[0]
    good(config("direct"), "--lcores", f"0@{one},1@{one}")


@case
def demanded_lcores_on_one_cpu_are_refused():
    document = config("direct")
    document["endpoints"][0]["lcores"] = [0]
    document["endpoints"][1]["lcores"] = [1]
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", document)
        done = run([MRC_DP, "run", "-c", path, "--lcores", f"0@{CORES[0]},1@{CORES[0]}"])
    equal(done.code, 2, done.err)
    true("share" in done.err and "lcore 1" in done.err, done.err)


@case
def memory_that_does_not_suffice_is_named():
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", config("direct", memory={"mib": 64}))
        done = run([MRC_DP, "run", "-c", path])
    true(done.code > 0, "exit code")
    true("memory.mib" in done.err and "raise" in done.err, done.err)
    equal(len(done.err.strip().split("\n")), 1, done.err)


@case
def nothing_is_left_behind():
    runtime = "/var/run/dpdk" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp/dpdk")
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", config("direct", workload={"seconds": 9999, "qps": 2}))
        with Process([MRC_DP, "run", "-c", path]) as process:
            own = os.path.join(runtime, f"mrc-dp-{process.child.pid}")  # others may run besides
            wait_until(f"{own} and the first line",
                       lambda: os.path.isdir(own) and "Gb/s" in process.text("out"))
            process.child.send_signal(signal.SIGINT)
            equal(process.wait(), 4, process.text())
            true(not os.path.exists(own), f"{own} is left")


@case
def works_without_privileges():
    if os.geteuid() != 0:
        raise Skip("only root can become somebody else")
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise Skip("needs setpriv")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
        program = shutil.copy(MRC_DP, folder)
        path = write_json(folder, "run.json", config("direct"))
        os.chmod(path, 0o644)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder}
        done = run([setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", program, "run",
                    "-c", path, "--json"], env=environment)
    equal(done.code, 0, done.err[-1500:])
    true(only_json(done.out)["good"], "good")


@case
def a_signal_ends_it_and_it_says_so():
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", config("direct", workload={"seconds": 9999, "qps": 2}))
        with Process([MRC_DP, "run", "-c", path]) as process:
            wait_until("first line", lambda: "Gb/s" in process.text("out"))
            process.child.send_signal(signal.SIGINT)
            equal(process.wait(), 4, process.text())
            true("interrupted" in process.text("out"), process.text("out")[-500:])


@case
def a_lost_terminal_ends_it_but_not_under_nohup():
    def hang_up(seconds, start, code):
        with tempfile.TemporaryDirectory() as folder:
            path = write_json(folder, "run.json", config("direct", workload={"seconds": seconds, "qps": 2}))
            with Process([*start, MRC_DP, "run", "-c", path]) as process:
                wait_until("first line", lambda: not process.alive() or "Gb/s" in process.text("out"))
                process.child.send_signal(signal.SIGHUP)
                if not process.alive() and process.wait() == 0:
                    raise TooSlow
                equal(process.wait(), code, process.text() + process.text("out"))

    hang_up(9999, [], 4)
    long_enough(lambda seconds: hang_up(seconds, ["nohup"], 0), 2, 10, 60)


@case
def files_cut_short_while_in_use():
    """By somebody else, in the middle of the transfer: a failure by name, no fatal signal."""
    for which in ("source", "target"):
        for left in (0, 4096 * 1000 + 10):
            long_enough(lambda seconds, which=which, left=left: cut_short(seconds, which, left), 2, 15, 120)


def cut_short(seconds, which, left):
    length = 12_000_000
    slow = {"rate": length * 8 // seconds, "delay": "5us", "queue": "16MiB"}
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", config("fabric", planes=1, fabric=slow))
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        with open(source, "wb") as out:
            out.write(b"\xa5" * length)

        def begun():
            if not os.path.exists(target):
                return False
            with open(target, "rb") as stored:
                return stored.read(1) == b"\xa5"

        def arrived():
            with open(target, "rb") as stored:
                stored.seek(-1, os.SEEK_END)
                return stored.read(1) == b"\xa5"

        with Process([MRC_DP, "run", "-c", path, "--json", "--file", source, "--store", target]) as run_:
            wait_until("the first byte", begun)
            if arrived():
                raise TooSlow
            os.truncate({"source": source, "target": target}[which], left)
            equal(run_.wait(), 1, f"exit code; {run_.text()} {run_.text('out')[-500:]}")
            result = only_json(run_.text("out"))
            equal(result["good"], False, "good")
            true("cut" in result["failure"] and which in result["failure"], result["failure"])


@case
def the_file_to_send_is_not_written_over():
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "run.json", config("direct", planes=1))
        source, other = os.path.join(folder, "source"), os.path.join(folder, "other")
        with open(source, "wb") as out:
            out.write(b"keep me")
        os.link(source, other)
        for store in (source, other):
            done = run([MRC_DP, "run", "-c", path, "--file", source, "--store", store])
            true(done.code in (2, 3), f"exit code {done.code}")
            true("is the file that is sent" in done.err and done.err.count("\n") == 1, done.err)
            with open(source, "rb") as kept:
                equal(kept.read(), b"keep me", "the file")


main()
