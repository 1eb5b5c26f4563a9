#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two mrc-dp processes: over shared memory (memif) and over veth between two network namespaces
(af_packet, neighbours by ARP and neighbour discovery). A large file crosses with equal hashes."""
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

from common import (DEADLINE, MRC_DP, SEED, Process, Skip, TooSlow, case, equal, long_enough, main, only_json,
                    true, wait_until, write_json)
from netns import Namespaces

FILE_LEN = int(os.environ.get("MRC_FILE_LEN", "300000000"))
CORES = sorted(os.sched_getaffinity(0))
WINDOW = {"algorithm": "fixed", "max_cwnd": "1MiB"}


def random_file(path, length):
    source = random.Random(SEED)
    digest = hashlib.sha256()
    with open(path, "wb") as out:
        while length > 0:
            block = source.randbytes(min(length, 1 << 20))
            out.write(block)
            digest.update(block)
            length -= len(block)
    return digest.hexdigest()


def file_hash(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def ends(folder, address, devices, workload, **more):
    """Configuration files of both ends: a requests, b responds."""
    paths = []
    for number, (name, role) in enumerate((("a", "requester"), ("b", "responder"))):
        own = {"role": role, "drain": f"{DEADLINE}s"}
        if role == "requester":
            own.update(workload)
        config = {
            "lcores": str(CORES[number % len(CORES)]),
            "endpoints": [{"name": name, "address": address[number],
                           "planes": [{"device": d} for d in devices[number]]}],
            "congestion": WINDOW,
            "workload": own,
            "oob": {"connect" if role == "requester" else "listen": f"unix:{folder}/oob",
                    "wait": f"{DEADLINE}s"},
            **more,
        }
        paths.append(write_json(folder, f"{name}.json", config))
    return paths


def memif_devices(folder):
    return [[f"net_memif{p},role={role},id={p},socket={folder}/memif,socket-abstract=no"
             for p in range(2)] for role in ("client", "server")]


@contextlib.contextmanager
def pair(paths, a_options=(), b_options=(), inside=((), ())):
    with Process([*inside[1], MRC_DP, "run", "-c", paths[1], "--json", *b_options]) as b:
        with Process([*inside[0], MRC_DP, "run", "-c", paths[0], "--json", *a_options]) as a:
            yield a, b


def finish(a, b):
    """Both results, after both ended well."""
    results = []
    for name, process in (("requester", a), ("responder", b)):
        code = process.wait()
        equal(code, 0, f"{name}: {process.text()[-1500:]} {process.text('out')[-1500:]}")
        results.append(only_json(process.text("out")))
    return results


def file_crosses(folder, paths, inside=((), ())):
    source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
    want = random_file(source, FILE_LEN)
    with open(paths[1], encoding="utf-8") as file:
        config = json.load(file)
    config["workload"]["store"] = target
    write_json(folder, "b.json", config)
    with pair(paths, ("--file", source), inside=inside) as (a, b):
        sent, stored = finish(a, b)
    equal(sent["file"]["sha256_sent"], want, "hash at the requester")
    equal(sent["file"]["sha256_stored"], want, "hash at the responder")
    equal(file_hash(target), want, "hash of the stored file")
    equal(sent["bytes_verified"], FILE_LEN, "bytes verified")
    for plane in sent["planes"]:
        true(plane["tx_packets"] > 100, f"plane {plane['plane']} carried its share")
    print(f"    {FILE_LEN} bytes at {sent['goodput_gbps']:.2f} Gb/s, "
          f"{sent['retransmitted_packets']} packets retransmitted")
    return sent, stored


@case
def memif_carries_a_file():
    with tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), memif_devices(folder), {"qps": 2})
        sent, _ = file_crosses(folder, paths)
        true(sent["neighbours"].get("arp_taken", 0) > 0, f"resolved by ARP: {sent['neighbours']}")


@case
def memif_starts_over_the_socket_of_a_killed_process():
    with tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), memif_devices(folder),
                     {"messages": 60, "qps": 3, "immediate_percent": 50})
        with Process([MRC_DP, "run", "-c", paths[1]]) as victim:
            wait_until("oob socket", lambda: os.path.exists(f"{folder}/oob"))
            victim.child.send_signal(signal.SIGKILL)
            victim.wait()
        true(os.path.exists(f"{folder}/memif"), "the stale socket is there")
        with pair(paths) as (a, b):
            sent, got = finish(a, b)
        true(sent["bytes"] > 0, "bytes")
        equal(sent["bytes_verified"], sent["bytes"], "every byte verified at the far end")
        equal(got["bytes_verified"], sent["bytes"], "the responder's own count")
        true(sent["immediates"] > 0, "immediates")


@case
def a_second_server_on_a_live_socket_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), memif_devices(folder), {"seconds": 1})
        with Process([MRC_DP, "run", "-c", paths[1]]) as first:
            wait_until("oob socket", lambda: os.path.exists(f"{folder}/oob"))
            with Process([MRC_DP, "run", "-c", paths[1]]) as second:
                true(second.wait() > 0, "exit code")
                true(f"{folder}/memif" in second.text(), second.text())
            true(first.alive(), "the first one lives on")
            true(os.path.exists(f"{folder}/oob"), "and keeps its socket")


@case
def unequal_path_mtus_are_refused_with_both_numbers():
    with tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), memif_devices(folder), {"seconds": 1})
        with open(paths[1], encoding="utf-8") as file:
            config = json.load(file)
        config["pmtu"] = 1024
        write_json(folder, "b.json", config)
        with pair(paths) as (a, b):
            true(a.wait() > 0 and b.wait() > 0, "both refuse")
            true("4096" in a.text() + b.text() and "1024" in a.text() + b.text(),
                 a.text() + b.text())


@case
def a_killed_peer_is_noticed():
    with tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), memif_devices(folder), {"seconds": 9999})
        with Process([MRC_DP, "run", "-c", paths[1]]) as b, \
             Process([MRC_DP, "run", "-c", paths[0]]) as a:
            # A line a second: the sockets alone would not tell whether both ends have met.
            wait_until("traffic", lambda: " Gb/s" in a.text() + a.text("out"))
            b.child.send_signal(signal.SIGKILL)
            true(a.wait() > 0, "exit code")
            true("peer" in a.text() + a.text("out"), a.text() + a.text("out"))


# Asks for an echo of 1000 bytes and compares; no ping program needed.
ECHO = """
import os, select, socket, struct, sys
v6 = ":" in sys.argv[1]
data = os.urandom(1000)
head = struct.pack(">BBHHH", 128 if v6 else 8, 0, 0, 4711, 1)
total = sum(struct.unpack(">504H", head + data))
while total >> 16:
    total = (total & 0xFFFF) + (total >> 16)
head = struct.pack(">BBHHH", head[0], 0, ~total & 0xFFFF, 4711, 1)
s = (socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) if v6
     else socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
s.sendto(head + data, (sys.argv[1], 0))
while select.select([s], [], [], 1)[0]:
    got = s.recv(2000)
    got = got if v6 else got[(got[0] & 15) * 4:]
    if got[0] == (129 if v6 else 0) and got[8:] == data:
        sys.exit(0)
sys.exit(1)
"""


def afpacket_devices(planes):
    return [[f"net_af_packet{p},iface={side}{p}" for p in range(planes)] for side in "ab"]


@case
def afpacket_carries_a_file_over_ipv4():
    with Namespaces(planes=2) as net, tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), afpacket_devices(2), {"qps": 2})
        sent, _ = file_crosses(folder, paths, (net.inside(net.a), net.inside(net.b)))
        true(sent["neighbours"].get("arp_taken", 0) > 0, f"resolved by ARP: {sent['neighbours']}")


@case
def afpacket_runs_over_ipv6():
    with Namespaces(planes=2) as net, tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("fd77::1", "fd77::2"), afpacket_devices(2),
                     {"messages": 200, "qps": 2, "message": 100000})
        with pair(paths, inside=(net.inside(net.a), net.inside(net.b))) as (a, b):
            sent, _ = finish(a, b)
        equal(sent["bytes_verified"], sent["bytes"], "every byte verified")
        true(sent["neighbours"].get("na_taken", 0) > 0, f"resolved by ND: {sent['neighbours']}")


@case
def the_kernel_can_ping_it():
    with Namespaces(planes=1) as net, tempfile.TemporaryDirectory() as folder:
        # The kernel of a has an address of its own; b answers for one that its kernel lacks.
        for address in ("10.77.0.9/24", "fd77::9/64"):
            done = subprocess.run(["ip", "-n", net.a, "addr", "add", address, "dev", "a0", "nodad"]
                                  if ":" in address else
                                  ["ip", "-n", net.a, "addr", "add", address, "dev", "a0"],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Skip(done.stderr)
        for addresses in (("10.77.0.1", "10.77.0.2"), ("fd77::1", "fd77::2")):
            paths = ends(folder, addresses, afpacket_devices(1), {"seconds": 9999, "rate": "50Mbps"})
            with pair(paths, inside=(net.inside(net.a), net.inside(net.b))) as (a, b):
                def answered():
                    true(b.alive() and a.alive(), a.text() + b.text())
                    return subprocess.run(net.inside(net.a, sys.executable, "-c", ECHO, addresses[1]),
                                          check=False).returncode == 0

                wait_until(f"echo from {addresses[1]}", answered)


def link(namespace, device, state):
    done = subprocess.run(["ip", "-n", namespace, "link", "set", device, state],
                          capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stderr)


def plane_row(text, plane):
    """Columns of a plane in the final table."""
    rows = [line.split() for line in text.split("\n") if line.startswith(f"  {plane:5} ")]
    true(rows, f"no row of plane {plane} in:\n{text}")
    return rows[-1]


@case
def links_come_late_and_go_early():
    long_enough(late_and_early, 9, 40, 200)


def late_and_early(seconds):
    with Namespaces(planes=2) as net, tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), afpacket_devices(2),
                     {"seconds": seconds, "qps": 2, "rate": "100Mbps"})
        link(net.a, "a1", "down")
        with Process(net.inside(net.b, MRC_DP, "run", "-c", paths[1])) as b, \
                Process(net.inside(net.a, MRC_DP, "run", "-c", paths[0])) as a:
            def lines():
                return [line.split() for line in a.text("out").split("\n") if "Gb/s  " in line]

            def last_share(plane):
                rows = lines()
                if not a.alive():
                    raise TooSlow
                return float(rows[-1][5 + plane].rstrip("%")) if rows and len(rows[-1]) > 6 else -1

            wait_until("traffic on plane 0 alone", lambda: last_share(0) == 100)
            link(net.a, "a1", "up")
            wait_until("traffic on plane 1", lambda: last_share(1) > 40)
            link(net.a, "a0", "down")
            wait_until("traffic on plane 1 alone", lambda: last_share(1) == 100)
            equal(a.wait(), 0, a.text() + a.text("out"))
            equal(b.wait(), 0, b.text() + b.text("out"))
            equal(plane_row(a.text("out"), 0)[-1], "down", "plane 0 at the end")
            equal(plane_row(a.text("out"), 1)[-1], "up", "plane 1 at the end")
            true("0 QP errors" in a.text("out"), a.text("out"))


@case
def a_small_interface_mtu_is_refused():
    with Namespaces(planes=1, mtu=1500) as net, tempfile.TemporaryDirectory() as folder:
        paths = ends(folder, ("10.77.0.1", "10.77.0.2"), afpacket_devices(1), {"seconds": 1})
        with Process(net.inside(net.a, MRC_DP, "run", "-c", paths[0])) as a:
            equal(a.wait(), 2, "exit code")
            for word in ("1500", "ip link set", "a0", "4096"):
                true(word in a.text(), a.text())


main()
