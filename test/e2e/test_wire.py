#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Frames before independent judges: Python's CRC for the ICRC, tshark for the lengths. The frames are
the corpus of fuzz_decode (one for each packet kind, IP version, tag and encapsulation; a test keeps
it equal to the encoder) and captures of a real run."""
import glob
import os
import struct
import tempfile

from common import MRC_DP, ROOT, case, equal, main, run, true, write_json
from packets import icrc, ip_offset, read_pcap

CORPUS = os.path.join(ROOT, "test/fuzz/corpus/decode")


def corpus(pattern="*"):
    for path in sorted(glob.glob(os.path.join(CORPUS, pattern))):
        with open(path, "rb") as file:
            yield os.path.basename(path), file.read()


def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            out.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)


# A source port is an entropy value: any number, also one that some other protocol is registered under.
# Left alone, tshark once took a write from such a port for a malformed packet of that protocol.
DISSECTORS = {"frame", "eth", "ethertype", "vlan", "arp", "ip", "ipv6", "ipv6.routing", "icmpv6", "udp",
              "infiniband"}


def only_dissectors(folder):
    """A settings folder for tshark in which every other protocol is off."""
    known = run(["tshark", "-G", "protocols"]).out.split("\n")
    names = {line.split("\t")[2] for line in known if line.count("\t") >= 2}
    true(DISSECTORS <= names, f"tshark has no {DISSECTORS - names}")
    with open(os.path.join(folder, "disabled_protos"), "w", encoding="ascii") as out:
        out.write("".join(f"{name}\n" for name in sorted(names - DISSECTORS)))


def tshark(path, *fields):
    folder = os.path.join(os.path.dirname(path), "wireshark")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        only_dissectors(folder)
    arguments = ["env", f"WIRESHARK_CONFIG_DIR={folder}", "tshark", "-n", "-r", path, "-T", "fields",
                 "-E", "occurrence=a"]
    for field in fields:
        arguments += ["-e", field]
    done = run(arguments)
    equal(done.code, 0, done.err)
    return [line.split("\t") for line in done.out.split("\n") if line]


@case
def icrc_of_every_kind_by_zlib():
    count = 0
    for name, frame in corpus():
        if name.endswith("-trimmed"):
            continue
        equal(frame[-4:], icrc(frame[ip_offset(frame):-4]), name)
        count += 1
    print(f"    {count} frames")
    true(count >= 96, "twelve kinds, two versions, tagged and not, encapsulated")


@case
def lengths_of_every_kind_by_tshark():
    frames = [(name, frame) for name, frame in corpus() if not name.endswith("-trimmed")]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "corpus.pcap")
        write_pcap(path, [frame for _, frame in frames])
        rows = tshark(path, "ip.len", "ipv6.plen", "udp.length", "frame.len", "_ws.malformed")
    equal(len(rows), len(frames), "packets read")
    for (name, frame), (v4, v6, udp, length, malformed) in zip(frames, rows):
        at = ip_offset(frame)
        equal(int(length), len(frame), name)
        equal(malformed, "", name)
        if v4:
            equal(int(v4), len(frame) - at, f"{name}: IP length")
            equal(int(udp), len(frame) - at - 20, f"{name}: UDP length")
        else:
            equal(int(v6.split(",")[-1]), len(frame) - at - 40, f"{name}: IPv6 length")
            equal(int(udp), len(frame) - at - 40, f"{name}: UDP length")


def run_captured(folder, addresses, pmtu):
    """Captures of both planes of a short run."""
    captures = [os.path.join(folder, f"plane{p}.pcap") for p in range(2)]
    planes = [{"device": "fabric"}, {"device": "fabric"}]
    config = {
        "pmtu": pmtu,
        "endpoints": [{"name": "a", "address": addresses[0],
                       "planes": [{**p, "capture": c} for p, c in zip(planes, captures)]},
                      {"name": "b", "address": addresses[1], "planes": planes}],
        "fabric": {"leaves": 2, "spines": 2,
                   "faults": [{"kind": "loss", "rate": "1%", "plane": 0}]},
        "workload": {"qps": 3, "message": 9001, "messages": 100, "depth": 4,
                     "immediate_percent": 50},
    }
    done = run([MRC_DP, "run", "-c", write_json(folder, "run.json", config), "--json"])
    equal(done.code, 0, done.err[-2000:])
    return captures


def judge_capture(path):
    frames = read_pcap(path)
    true(len(frames) > 50, f"{len(frames)} frames captured")
    rows = tshark(path, "ip.len", "ipv6.plen", "udp.length", "udp.dstport", "_ws.malformed")
    equal(len(rows), len(frames), "packets read by tshark")
    opcodes = set()
    for (frame, wire), (v4, v6, udp, port, malformed) in zip(frames, rows):
        equal(len(frame), wire, "captured whole")
        equal(malformed, "", "malformed")
        if port != "4791":
            continue
        at = ip_offset(frame)
        header = 20 if v4 else 40
        equal(int(v4) if v4 else int(v6) + 40, len(frame) - at, "IP length")
        equal(int(udp), len(frame) - at - header, "UDP length")
        equal(frame[-4:], icrc(frame[at:-4]), f"ICRC of {frame.hex()}")
        opcodes.add(frame[at + header + 8])
    print(f"    {len(frames)} frames, opcodes {' '.join(f'{o:02x}' for o in sorted(opcodes))}")
    return opcodes


@case
def capture_of_a_run_over_ipv6():
    with tempfile.TemporaryDirectory() as folder:
        opcodes = set()
        for path in run_captured(folder, ("fd00::1", "fd00::2"), 1024):
            opcodes |= judge_capture(path)
        true({0xC6, 0xC7, 0xC8, 0xC9, 0xD1, 0xDC} <= opcodes, f"opcodes {opcodes}")


@case
def capture_of_a_run_over_ipv4():
    with tempfile.TemporaryDirectory() as folder:
        opcodes = set()
        for path in run_captured(folder, ("10.0.0.1", "10.0.0.2"), 4096):
            opcodes |= judge_capture(path)
        true({0xC6, 0xC7, 0xC8, 0xC9, 0xD1, 0xDC} <= opcodes, f"opcodes {opcodes}")


main()
