#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The fabric as a process: two mrc-dp processes behind it, faults through its control socket.

    mrc-dp alice ==memif== mrc-fabric (2 planes, 2 leaves, 2 spines) ==memif== mrc-dp bob
                               |
                            mrc-ctl

and the same over veth pairs, each of the three in a network namespace of its own.

Three pollers on two CPUs take turns by the scheduler's time slices, so that nothing here counts on
speed: the test looks at counters until they show what it waits for.
"""
import contextlib
import json
import os
import random
import signal
import socket
import stat
import subprocess
import tempfile
import time

import memif
from common import (BUILD, DEADLINE, MRC_DP, ROOT, SEED, Process, TooSlow, case, documented, equal,
                    long_enough, main, only_json, run, true, wait_until, write_json)
from netns import Star

MRC_FABRIC = os.path.join(BUILD, "app/mrc-fabric/mrc-fabric")
MRC_CTL = os.path.join(BUILD, "ctl/mrc-ctl")


def config(folder, name, change=None):
    """A file of config/ with its sockets moved to the folder."""
    with open(os.path.join(ROOT, "config", name), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("/tmp/mrc-fabric/", f"{folder}/run/").replace("/tmp/mrc-fabric-", f"{folder}/m-")
    document = json.loads(text)
    if len(os.sched_getaffinity(0)) < 2:
        document["lcores"] = str(min(os.sched_getaffinity(0)))
    if change:
        change(document)
    return write_json(folder, name, document)


class Fabric(Process):
    def __init__(self, folder, change=None, name="fabric-2x2x2.json", inside=()):
        self.socket = os.path.join(folder, "run/control.sock")
        super().__init__([*inside, MRC_FABRIC, "-c", config(folder, name, change)])

    def __enter__(self):
        super().__enter__()
        wait_until("mrc-fabric is ready", lambda: not self.alive() or "ready" in self.text("out"))
        true(self.alive(), self.text())
        return self

    def ctl(self, *arguments):
        done = run([MRC_CTL, "-s", self.socket, "--json", *arguments])
        equal(done.code, 0, f"mrc-ctl {' '.join(arguments)}: {done.err}")
        answer = only_json(done.out)
        documented(answer, "doc/man/mrc-ctl.1.scd", free=("drops", "fault"))
        return answer

    def end(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        code = self.wait()
        equal(code, 0, f"exit code of mrc-fabric: {self.text()[-2000:]}")
        true("balance" in self.text("out"), self.text("out"))


def carried(fabric, plane):
    """Bytes that alice's link on a plane has carried."""
    links = fabric.ctl("counters", f"plane={plane}", "host=0", "direction=host_up")["links"]
    equal(len(links), 1, "links")
    return links[0]["tx_bytes"]


def carries(fabric, alice, plane, more_len, seconds=0):
    """Waits until the plane has carried so much more, and so long that the record shows it."""
    start, begin = carried(fabric, plane), time.monotonic()

    def enough():
        if carried(fabric, plane) - start > more_len and time.monotonic() - begin > seconds:
            return True
        if not alice.alive():
            raise TooSlow
        return False
    wait_until(f"plane {plane} carries {more_len} more bytes", enough)


def fail_and_heal(fabric, alice):
    for plane in (0, 1):
        carries(fabric, alice, plane, 1 << 20, 1)
    true(fabric.ctl("link", "1", "down")["changed"] > 0, "no link changed")
    true(all(not link["up"] for link in fabric.ctl("links", "1")["links"]), "links are down")
    carries(fabric, alice, 0, 1 << 20)
    dead = carried(fabric, 1)
    carries(fabric, alice, 0, 1 << 20, 3)
    equal(carried(fabric, 1), dead, "bytes on the plane without carrier")
    fabric.ctl("link", "1", "up")
    carries(fabric, alice, 1, 1 << 20, 2)
    equal(fabric.ctl("check"), {"balanced": True}, "balance")


class Memif:
    """Where the three processes run and what they are told."""
    files = ("fabric-2x2x2.json", "fabric-bob.json", "fabric-alice.json")
    inside = ((), (), ())


@contextlib.contextmanager
def veth():
    with Star(planes=2) as net:
        net.files = ("fabric-veth.json", "fabric-veth-bob.json", "fabric-veth-alice.json")
        net.inside = [net.inside(name) for name in (net.fabric, net.bob, net.alice)]
        yield net


def transfer(where, seconds):
    """One verified transfer of so many seconds, with plane 1 failing and healing in it. The result,
    and whether the failure and the return were seen in time."""
    def length(document):
        document["workload"]["seconds"] = seconds
        patient(document)

    def patient(document):
        document["workload"]["drain"] = f"{DEADLINE}s"
        document["oob"]["wait"] = f"{DEADLINE}s"

    def end(number, change):
        return Process([*where.inside[number], MRC_DP, "run", "-c",
                        config(folder, where.files[number], change), "--json"])

    with tempfile.TemporaryDirectory() as folder, \
            Fabric(folder, None, where.files[0], where.inside[0]) as fabric, \
            end(1, patient) as bob, end(2, length) as alice:
        seen = True
        try:
            fail_and_heal(fabric, alice)
        except TooSlow:
            seen = False
            fabric.ctl("link", "1", "up")
        code = alice.wait(seconds + DEADLINE)
        equal(code, 0, f"alice: {alice.text()[-2000:]} {alice.text('out')[-500:]}")
        equal(bob.wait(), 0, f"bob: {bob.text()[-2000:]}")
        fabric.end()
        return only_json(alice.text("out")), seen


def plane_fails_and_heals(where):
    def attempt(seconds):
        result, seen = transfer(where, seconds)
        judge(result)
        if not seen:
            raise TooSlow
        judge_timeline(result)

    long_enough(attempt, 20, 60, 180)


@case
def plane_fails_and_heals_under_a_verified_transfer():
    plane_fails_and_heals(Memif)


@case
def plane_fails_and_heals_over_veth():
    with veth() as where:
        plane_fails_and_heals(where)


def judge(result):
    """Whatever happened, nothing was lost or damaged."""
    true(result["good"], result["failure"])
    true(result["bytes_verified"] > 0, "bytes verified")
    equal(result["bytes_verified"], result["bytes"], "every byte sent was verified")
    equal(result["bytes_corrupt"], 0, "bytes corrupt")
    equal(result["qp_errors"], 0, "QP errors")


def judge_timeline(result):
    """The record of the seconds shows plane 1 leave and return."""
    true(result["retransmitted_packets"] > 0, "a plane without carrier must cost retransmissions")
    seconds = [s["plane_packets"] for s in result["timeline"]]
    print(f"    packets by second and plane: {seconds}")
    shares, some = [], [0, 0]
    for row in seconds:  # a second with few packets, on a busy machine, is taken together with the next
        some = [a + b for a, b in zip(some, row)]
        if sum(some) >= 20:
            shares.append(some[1] / sum(some))
            some = [0, 0]
    marks = "".join("d" if s < 0.1 else "u" if s > 0.25 else "-" for s in shares)
    true("u" in marks and "d" in marks[marks.index("u"):], f"no dip: {marks}")
    last = marks.rindex("d")
    true("u" in marks[last:] or seconds[-1][1] > 0, f"no return: {marks}")


def short(messages):
    def change(document):
        document["oob"]["wait"] = f"{DEADLINE}s"
        if document["workload"]["role"] == "requester":
            document["workload"].pop("seconds")
            document["workload"]["messages"] = messages
    return change


def hosts(folder, messages):
    return [Process([MRC_DP, "run", "-c", config(folder, f"fabric-{name}.json", short(messages)), "--json"])
            for name in ("bob", "alice")]


def whole_transfer(folder):
    """What went on before has left nothing behind: a transfer goes well."""
    with contextlib.ExitStack() as stack:
        bob, alice = (stack.enter_context(host) for host in hosts(folder, 20))
        equal(alice.wait(), 0, f"alice: {alice.text()[-2000:]} {alice.text('out')[-500:]}")
        equal(bob.wait(), 0, f"bob: {bob.text()[-2000:]}")
        judge(only_json(alice.text("out")))


def descriptors(process):
    return len(os.listdir(f"/proc/{process.child.pid}/fd"))


@case
def killed_hosts_leave_the_fabric_alive():
    """Twenty times under traffic, at random moments: one host, the other, or both. The driver loses the
    descriptor of a connection that ends in its greeting, and no more: at most one a plane and host killed."""
    chance = random.Random(SEED)
    killed = 0
    with tempfile.TemporaryDirectory() as folder, Fabric(folder) as fabric:
        before = descriptors(fabric)
        for turn in range(20):
            with contextlib.ExitStack() as stack:
                both = [stack.enter_context(host) for host in hosts(folder, 10**9)]
                enough = carried(fabric, 0) + 200000 + chance.randrange(1000000)
                wait_until("traffic", lambda: not all(h.alive() for h in both)
                           or carried(fabric, 0) > enough, 60)
                for host in both:
                    true(host.alive(), f"turn {turn}: {host.text()[-2000:]}")
                victims = both if turn % 3 == 2 else [both[turn % 3]]
                killed += len(victims)
                for victim in victims:
                    victim.child.send_signal(signal.SIGKILL)
                for host in both:
                    code = host.wait()
                    if host not in victims:
                        equal(code, 1, f"survivor of turn {turn}: {host.text()[-2000:]}")
                        true("peer" in only_json(host.text("out"))["failure"], host.text("out")[-500:])
            true(fabric.alive(), f"turn {turn}: {fabric.text()[-2000:]}")
        whole_transfer(folder)
        equal(fabric.ctl("check"), {"balanced": True}, "balance")
        true(descriptors(fabric) <= before + 2 * killed, f"{before} descriptors became {descriptors(fabric)}")
        fabric.end()


@case
def clients_that_break_off_their_handshake():
    """Some before they are even accepted, which the driver alone does not survive."""
    with tempfile.TemporaryDirectory() as folder, Fabric(folder) as fabric, \
            memif.Client(f"{folder}/m-memif.sock", 0) as client:
        equal(client.come_and_go(memif.STEPS),
              [memif.HELLO, memif.ACK, memif.ACK, memif.ACK, memif.ACK, memif.CONNECTED], "answers")
        for _ in range(200):
            client.come_and_go(0)
        for turn in range(120):
            # The device may still be busy with the one before, and says so by closing.
            with contextlib.suppress(ConnectionError):
                client.come_and_go(turn % (memif.STEPS + 1), turn % 2 == 0)
            true(fabric.alive(), f"turn {turn}: {fabric.text()[-2000:]}")
        whole_transfer(folder)
        fabric.end()


@case
def segments_pick_the_spine():
    """SRv6: on plane 0 every path of both ends leads over spine 1, on plane 1 over either."""
    def list_of(plane, own, far, spine):
        return f"fcbb:bb{plane:02x}:{0x1000 + own:x}:{0x2000 + spine:x}:{0x1000 + far:x}:4000::"

    def end(own):
        def change(document):
            endpoint = document["endpoints"][0]
            endpoint["address"] = f"fd77::{own + 1}"
            endpoint["planes"][0]["paths"] = [list_of(0, own, 1 - own, 1)]
            endpoint["planes"][1]["paths"] = [list_of(1, own, 1 - own, s) for s in (0, 1)]
            document["ev"] = {"mode": "srv6"}
            document["pmtu"] = 2048
            document["oob"]["wait"] = f"{DEADLINE}s"
            document["workload"].pop("seconds", None)
            document["workload"].update({"messages": 40} if own == 0 else {})
        return change

    for decap in (False, True):
        def fabric_change(document, decap=decap):
            document["fabric"].update({"forward": "srv6", "srv6_decap": decap})
            for number, host in enumerate(document["hosts"]):
                host["addresses"] = [f"fd77::{number + 1}"]

        with tempfile.TemporaryDirectory() as folder, Fabric(folder, fabric_change) as fabric, \
                Process([MRC_DP, "run", "-c", config(folder, "fabric-bob.json", end(1)), "--json"]) as bob, \
                Process([MRC_DP, "run", "-c", config(folder, "fabric-alice.json", end(0)), "--json"]) as alice:
            equal(alice.wait(), 0, f"alice: {alice.text()[-2000:]} {alice.text('out')[-500:]}")
            equal(bob.wait(), 0, f"bob: {bob.text()[-2000:]}")
            judge(only_json(alice.text("out")))
            used = {(plane, leaf, spine): fabric.ctl("counters", f"plane={plane}", f"leaf={leaf}",
                                                     f"spine={spine}", "direction=leaf_up")["links"][0]
                    for plane in (0, 1) for leaf in (0, 1) for spine in (0, 1)}
            packets = {where: link["tx_packets"] for where, link in used.items()}
            print(f"    decap {decap}, packets by plane, leaf and spine: {packets}")
            # Neighbour discovery and answers to probes have no list of their own and go by the hash.
            true(packets[0, 0, 0] * 20 < packets[0, 0, 1], f"plane 0 uses spine 1: {packets}")
            true(packets[0, 1, 1] > 20, f"so do the answers: {packets}")
            true(packets[1, 0, 0] > 100 and packets[1, 0, 1] > 100, f"plane 1 uses both: {packets}")
            fabric.end()


@case
def faults_by_socket_and_file():
    def with_fault(document):
        document["faults"] = [{"kind": "loss", "rate": "5%", "plane": 0, "name": "from the file"}]

    with tempfile.TemporaryDirectory() as folder, Fabric(folder, with_fault) as fabric:
        first = fabric.ctl("faults")["faults"]
        equal([(f["id"], f["fault"]) for f in first],
              [(1, {"kind": "loss", "name": "from the file", "plane": 0, "rate": 0.05})], "faults")
        plan = {"kind": "duplicate", "copies": 2, "leaf": 1, "packets": ["data"], "for": 10**12}
        equal(fabric.ctl("fault", "start", json.dumps(plan))["id"], 2, "id")
        equal(fabric.ctl("fault", "start", "flap", "plane=1", "down=10ms", "up=1s")["id"], 3, "id")
        faults = fabric.ctl("faults")["faults"]
        equal(faults[1]["fault"], plan, "plan as told")
        equal(faults[2]["fault"], {"kind": "flap", "plane": 1, "down": 10**7, "up": 10**9}, "words")
        equal([f["state"] for f in faults], ["active"] * 3, "states")
        equal(fabric.ctl("fault", "stop", "2")["id"], 2, "id")
        equal([f["id"] for f in fabric.ctl("faults")["faults"]], [1, 3], "left")
        fabric.ctl("link", "leaf=0", "spine=1", "rate=2G", "delay=3us")
        links = fabric.ctl("links", "leaf=0", "spine=1")["links"]
        equal({(link["rate_bps"], link["delay_ns"]) for link in links}, {(2 * 10**9, 3000)}, "set")
        equal(len(fabric.ctl("links")["links"]), 24, "links")
        for words, part in ((["fault", "stop", "2"], "no fault 2; \"mrc-ctl faults\""),
                            (["link", "7", "down"], "0 to 1"),
                            (["fault", "start", "los"], "loss"),
                            (["link", "up"], "whole fabric"),
                            (["call", "fly"], "no method")):
            done = run([MRC_CTL, "-s", fabric.socket, *words])
            equal(done.code, 1, f"{words}: {done.err}")
            true(part in done.err and done.err.count("\n") == 1, done.err)
        for command in ("links", "faults", "counters", "check", "info"):
            done = run([MRC_CTL, "-s", fabric.socket, command])
            equal(done.code, 0, done.err)
            true(len(done.out) > 10, done.out)
        fabric.end()


@case
def nobody_listens():
    done = run([MRC_CTL, "-s", "/nonexistent/socket", "links"])
    equal(done.code, 3, "exit code")
    equal(done.err.count("\n"), 1, done.err)
    true("is mrc-fabric running?" in done.err, done.err)
    equal(done.err.count("/nonexistent/socket"), 1, done.err)
    with tempfile.TemporaryDirectory() as folder:
        for path, words in ((folder, ["cannot connect", "refused"]), ("x" * 200, ["no path of a UNIX socket"])):
            done = run([MRC_CTL, "-s", path, "links"])
            equal(done.code, 3, "exit code")
            equal((done.err.count("\n"), done.err.count(path)), (1, 1), done.err)
            true(any(word in done.err for word in words), done.err)


@case
def lost_output_is_no_success():
    for program in (MRC_FABRIC, MRC_CTL):
        for option in ("--help", "--version"):
            done = run(["sh", "-c", 'exec "$@" >/dev/full', "sh", program, option])
            equal(done.code, 1, done.err)
            true("standard output" in done.err, done.err)
    with tempfile.TemporaryDirectory() as folder:
        with Fabric(folder) as fabric:
            for command in ("links", "faults", "counters", "check", "info"):
                done = run(["sh", "-c", 'exec "$@" >/dev/full', "sh", MRC_CTL, "-s", fabric.socket, command])
                equal(done.code, 1, f"{command}: {done.err}")
                true("standard output" in done.err, done.err)
            fabric.end()
        with open("/dev/full", "w", encoding="ascii") as full, \
                subprocess.Popen([MRC_FABRIC, "-c", config(folder, "fabric-2x2x2.json")], stdout=full,
                                 stderr=subprocess.PIPE, text=True) as fabric:
            wait_until("it serves", lambda: os.path.exists(f"{folder}/run/control.sock") or fabric.poll() is not None)
            fabric.terminate()
            told = fabric.communicate(timeout=DEADLINE)[1]
        equal(fabric.returncode, 1, told)
        true("standard output" in told, told)


@case
def numbers_of_planes_are_taken_at_their_word():
    """2^32 is not plane 0, and what contradicts itself changes nothing."""
    with tempfile.TemporaryDirectory() as folder, Fabric(folder) as fabric:
        for words, code in ((["4294967296", "down"], 1), (["99999999999999999999", "down"], 2), (["-1", "down"], 1),
                            (["0", "up", "down"], 2), (["0", "plane=1", "down"], 2), (["plane=1", "0", "down"], 2)):
            done = run([MRC_CTL, "-s", fabric.socket, "link", *words])
            equal(done.code, code, f"{words}: {done.err}")
            equal(done.err.count("\n"), 1, done.err)
            true(all(link["up"] for link in fabric.ctl("links")["links"]), f"{words}: a link is down")
        fabric.end()


@case
def wrong_usage():
    for words in ([], ["fly"], ["links", "x"], ["fault"], ["fault", "stop", "x"], ["faults", "1"],
                  ["fault", "start", "{"], ["-s"], ["--wait", "x", "links"]):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            done = run([MRC_CTL, *words], env={**os.environ, "MRC_CTL_SOCKET": path})
            true(done.code in (2, 3), f"{words}: {done.code}")
            true(done.err != "", f"{words} ends without a word")


@case
def ends_by_signal_and_starts_again_after_any_death():
    with tempfile.TemporaryDirectory() as folder:
        for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            with Fabric(folder) as fabric:
                mode = os.stat(fabric.socket).st_mode
                equal(stat.S_IMODE(mode), 0o600, "mode of the socket")
                equal(stat.S_IMODE(os.stat(os.path.dirname(fabric.socket)).st_mode), 0o700, "folder")
                # A client that hangs about must not hold it up.
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(fabric.socket)
                    client.send(b'{"jsonrpc":')
                    if number in (signal.SIGKILL, signal.SIGABRT):
                        fabric.child.send_signal(number)
                        fabric.wait()
                    else:
                        fabric.child.send_signal(number)
                        equal(fabric.wait(), 0, f"exit code: {fabric.text()}")
                        true(not os.path.exists(fabric.socket), "the socket is gone")


@case
def second_one_is_refused():
    with tempfile.TemporaryDirectory() as folder, Fabric(folder) as fabric:
        done = run([MRC_FABRIC, "-c", os.path.join(folder, "fabric-2x2x2.json")])
        equal(done.code, 3, done.err)
        true("another process serves" in done.err, done.err)
        equal(fabric.ctl("check"), {"balanced": True}, "the first one lives on")
        fabric.end()


def put(*path):
    *way, value = path

    def change(document):
        for key in way[:-1]:
            document = document[key]
        document[way[-1]] = value
    return change


@case
def wrong_configurations():
    rows = [
        (put("fabrik", {}), ["fabrik", "fabric"]),
        (put("hosts", []), ["hosts", "1 to 64"]),
        (put("hosts", 1, "host", 9), ["hosts[1].host", "9", "0 to 1"]),
        (put("hosts", 1, "host", 0), ["hosts[1].host", "hosts[0] already"]),
        (put("hosts", 1, "addresses", ["10.77.0.1"]), ["hosts[1].addresses[0]", "hosts[0]"]),
        (put("hosts", 1, "ports", ["none"]), ["hosts[1].ports", "1 ports"]),
        (put("hosts", 1, "ports", ["net_memif0", "none"]), ["hosts[1].ports[0]", "net_memif0"]),
        (put("hosts", 1, "ports", ["none", "net_memif9,socket=/x"]), ["ports[1]", "socket-abstract=no"]),
        (put("faults", [{"kind": "loss", "plane": 2}]), ["faults[0].plane", "0 to 1"]),
        (put("faults", [{"kind": "carrier"}]), ["faults[0].kind", "whole fabric"]),
        (put("fabric", "links", [{"spine": 5, "rate": 1}]), ["fabric.links[0].spine", "0 to 1"]),
        (put("fabric", "srv6_blocks", ["fcbb:bb00:1::", "fcbb::"]), ["srv6_blocks[0]", "32 bits"]),
        (put("fabric", "srv6_leaf_base", 8192), ["fabric.srv6_spine_base", "overlap"]),
        (put("control", {"access": "group"}), ["control.access", "group"]),
        (put("control", {"group": "no-such-group"}), ["control.group", "no-such-group"]),
        (put("idle", "rest"), ["idle", "spin"]),
    ]
    for change, words in rows:
        with tempfile.TemporaryDirectory() as folder:
            path = config(folder, "fabric-2x2x2.json", change)
            done = run([MRC_FABRIC, "-c", path])
            equal(done.code, 2, f"{words}: {done.err}")
            equal(done.err.count("\n"), 1, done.err)
            for word in [path, *words]:
                true(word in done.err, f"no '{word}' in: {done.err}")
    with tempfile.TemporaryDirectory() as folder:
        equal(run([MRC_FABRIC, "--check", "-c", config(folder, "fabric-2x2x2.json")]).code, 0, "good")
        for word in ("--bogus", "word", "-Z"):
            done = run([MRC_FABRIC, "-c", config(folder, "fabric-2x2x2.json"), word])
            equal(done.code, 2, done.err)
            equal(done.err.count("\n"), 1, done.err)
            true(word.strip("-") in done.err, done.err)
    equal(run([MRC_FABRIC]).code, 2, "no file")
    true("usage" in run([MRC_FABRIC, "--help"]).out, "help")
    true("mrc-fabric" in run([MRC_FABRIC, "--version"]).out, "version")


main()
