#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The demo as a user meets it: ten seconds, a plane that goes silent and comes back, verified bytes."""
import hashlib
import json
import os
import random
import signal
import subprocess
import tempfile

from common import (DEADLINE, MRC_DP, ROOT, SEED, Process, case, equal, main, need_root, only_json, run,
                    true, wait_until, write_json)

FIELDS = ("goodput_gbps", "bytes_verified", "bytes_corrupt", "qp_errors", "retransmitted_packets",
          "planes", "drops", "seconds", "timeline")
PLANE_FIELDS = ("tx_packets", "rx_packets", "state")
FAILED_PLANE, FAILS, HEALS = 1, 4, 7  # as config/demo.json says


def demo(*arguments):
    return run([MRC_DP, "demo", *arguments])


def share(second, plane):
    packets = second["plane_packets"]
    return packets[plane] / max(1, sum(packets))


def judged_demo():
    done = run([os.path.join(ROOT, "run"), "demo", "--json"])
    equal(done.code, 0, done.err[-2000:])
    result = only_json(done.out)
    for field in FIELDS:
        true(field in result, f"no field {field}")
    equal(len(result["planes"]), 4, "planes")
    for plane in result["planes"]:
        for field in PLANE_FIELDS:
            true(field in plane, f"no field {field} in {plane}")
    true(result["bytes_verified"] > 0, "bytes verified")
    equal(result["bytes_verified"], result["bytes"], "every byte sent was verified")
    equal(result["bytes_corrupt"], 0, "bytes corrupt")
    equal(result["qp_errors"], 0, "QP errors")
    true(result["retransmitted_packets"] > 0, "a silent plane must cost retransmissions")
    return result


@case
def json_is_all_of_stdout():
    """The demo lasts ten seconds, also where other work takes the CPUs away for most of them: a run that
    shows too little is repeated, a few times."""
    for turn in range(4):
        result = judged_demo()
        if all(sum(s["plane_packets"][0] for s in part) >= 5000 for part in parts(result)):
            break
        print(f"    run {turn} of the demo shows too little on this busy machine", flush=True)
    dip_and_recovery(result)


def parts(result):
    """Rows of the record before, during and after the failure. A row is one second, or more where the host
    was away."""
    def rows(begin, end):
        return [s for s in result["timeline"] if s["begin"] >= begin and s["begin"] + s["seconds"] <= end
                and sum(s["plane_packets"]) >= 20]

    return rows(0, FAILS), rows(FAILS + 1, HEALS), rows(HEALS, 1000)


def dip_and_recovery(result):
    """The failed plane carries its share before, hardly anything during, and its share after; the
    others go on."""
    before, during, after = parts(result)
    for name, part in (("before", before), ("during", during), ("after", after)):
        print(f"    {name}: share of the silent plane {[round(share(s, FAILED_PLANE), 3) for s in part]}, "
              f"Gb/s {[round(s['goodput_gbps'], 2) for s in part]}")
        true(part, f"no second {name} the failure with packets in it")
        true(sum(s["goodput_gbps"] for s in part) > 0, f"goodput {name} the failure")
    true(max(share(s, FAILED_PLANE) for s in before) > 0.2, "equal shares before")
    true(min(share(s, FAILED_PLANE) for s in during) < 0.12, "the silent plane is left to probes and answers")
    true(max(share(s, FAILED_PLANE) for s in after) > 0.2, "the healed plane is used again")


@case
def table_says_what_happened():
    done = demo("--seconds", "2")
    equal(done.code, 0, done.err[-2000:])
    for words in ("verified", "0 corrupt", "0 QP errors", "goodput"):
        true(words in done.out, f"no '{words}' in:\n{done.out}")


@case
def file_arrives_whole():
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        content = random.Random(SEED).randbytes((30 << 20) + 12345)
        with open(source, "wb") as out:
            out.write(content)
        done = demo("--json", "--file", source, "--store", target)
        equal(done.code, 0, done.err[-2000:])
        told = only_json(done.out)["file"]
        want = hashlib.sha256(content).hexdigest()
        equal(told["sha256_sent"], want, "hash told by the sender")
        equal(told["sha256_stored"], want, "hash told by the receiver")
        with open(target, "rb") as stored:
            equal(hashlib.sha256(stored.read()).hexdigest(), want, "hash of the stored file")


@case
def tiny_file_arrives_whole():
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        with open(source, "wb") as out:
            out.write(b"x")
        equal(demo("--json", "--file", source, "--store", target).code, 0, "exit code")
        with open(target, "rb") as stored:
            equal(stored.read(), b"x", "stored file")


@case
def missing_or_empty_file_is_refused():
    for path in ("/nonexistent/file", "/dev/null", "/"):
        done = demo("--file", path)
        true(done.code > 0, f"{path}: exit {done.code}")
        equal(len(done.err.strip().split("\n")), 1, done.err)
        true(path in done.err, done.err)


@case
def full_disk_is_refused():
    """The file to store does not fit: said at the start, not found out by a fatal signal."""
    need_root()
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "disk", "target")
        os.mkdir(os.path.dirname(target))
        with open(source, "wb") as out:
            out.write(bytes(400000))
        script = (f"mount -t tmpfs -o size=64k none {os.path.dirname(target)} && "
                  f"exec {MRC_DP} demo --file {source} --store {target}")
        done = run(["unshare", "-m", "sh", "-c", script])
        equal(done.code, 3, done.err[-2000:])
        equal(len(done.err.strip().split("\n")), 1, done.err)
        for word in ("store", target, "No space left"):
            true(word in done.err, f"no '{word}' in: {done.err}")


@case
def result_that_cannot_be_written_is_no_success():
    for arguments in (["demo", "--json", "--seconds", "0.5"], ["--version"], ["run", "--help"], ["perf", "--help"],
                      ["doctor", "--help"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([MRC_DP, *arguments], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=DEADLINE, check=False)
        equal(done.returncode, 1, f"{arguments}: {done.stderr}")
        true("standard output" in done.stderr, done.stderr)


@case
def capture_that_cannot_be_written_is_no_success():
    with open(os.path.join(ROOT, "config", "demo.json"), encoding="utf-8") as file:
        document = json.load(file)
    document["endpoints"][0]["planes"][1]["capture"] = "/dev/full"
    with tempfile.TemporaryDirectory() as folder:
        done = run([MRC_DP, "run", "-c", write_json(folder, "full.json", document), "--json", "--seconds", "1"])
    equal(done.code, 1, done.err)
    failure = only_json(done.out)["failure"]
    for word in ("endpoints[0].planes[1].capture", "/dev/full", "No space left"):
        true(word in failure, f"no '{word}' in: {failure}")


@case
def closed_standard_streams_are_left_alone():
    """DPDK's shared configuration once got descriptor 1 and the progress lines: the process spun for ever."""
    for closed in ((0, 1, 2), (1,), (0,)):
        child = subprocess.Popen([MRC_DP, "demo", "--seconds", "0.5"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 preexec_fn=lambda: [os.close(fd) for fd in closed])
        try:
            code = child.wait(DEADLINE)
        finally:
            child.kill()
        equal(code, 1 if 1 in closed else 0, f"descriptors {closed} closed")


@case
def wrong_eal_argument_is_told_without_its_usage():
    done = run([MRC_DP, "demo", "--json", "--no-such-option"])
    equal(done.code, 2, done.err)
    equal(done.out, "")
    true("--no-such-option" in done.err, done.err)
    # What EAL understands but cannot have is no wrong command line.
    done = run([MRC_DP, "demo", "--json", "--vdev=net_bogus0"])
    equal(done.code, 3, done.err)
    true("net_bogus0" in done.err, done.err)


@case
def signals_end_it():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Process([MRC_DP, "demo", "--json", "--seconds", "9999"]) as demo_process:
            # Ready to be interrupted when the EAL's threads run.
            wait_until("threads", lambda: threads(demo_process.child.pid) >= 2)
            demo_process.child.send_signal(number)
            code = demo_process.wait()
            true(code >= 0, f"ended by signal {-code}")


def threads(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return 0


@case
def starts_again_after_any_death():
    for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGTERM):
        with Process([MRC_DP, "demo", "--quiet"]) as victim:
            wait_until("threads", lambda: threads(victim.child.pid) >= 2)
            victim.child.send_signal(number)
            victim.wait()
        done = demo("--seconds", "0.5", "--json")
        equal(done.code, 0, done.err[-2000:])


@case
def doctor_speaks_json():
    done = run([MRC_DP, "doctor", "--json"])
    true(done.code in (0, 1), f"exit code {done.code}: {done.err}")
    json.loads(done.out)


@case
def help_of_every_command():
    for command in ("run", "demo", "doctor"):
        done = run([MRC_DP, command, "--help"])
        equal(done.code, 0, command)
        true("usage" in done.out, done.out)
        equal("--config" in done.out or "-c FILE" in done.out, command != "demo", done.out)
    for command in ("doctor", "perf", "raw"):
        done = run([MRC_DP, command, "--bogus"])
        equal(done.code, 2, command)
        true(done.err.startswith("mrc-dp") and f"mrc-dp {command}" in done.err, done.err)
        true("--bogus" in done.err, done.err)
    equal(run([MRC_DP, "--version"]).code, 0, "version")
    true(run([MRC_DP, "fly"]).code > 0, "unknown command")


main()
