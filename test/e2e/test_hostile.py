#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Malformed, hostile and foreign packets at a running process: it survives, counts each under its
reason, and the transfer beside them arrives whole.

    requester [b0] ==== veth ==== [a0] responder        the attacker writes on b0, towards a0
"""
import os
import random
import socket
import struct
import tempfile

from common import (DEADLINE, MRC_DP, SEED, Process, TooSlow, case, equal, long_enough, main, only_json, pause,
                    true, write_json)
from netns import Namespaces, RawPort, setns
import packets
from packets import Path, ack, bth, ep_request, icrc, nack, probe, sack, write

VICTIM, PEER, STRANGER = "fd00::1", "fd00::2", "fd00::bad"
COPIES = 20


def config(name, address, device, role, oob, seconds):
    return {
        "pmtu": 1024,
        "endpoints": [{"name": name, "address": address, "planes": [{"device": device}]}],
        "workload": {"role": role, "qps": 2, "message": "16KiB", "depth": 4, "seconds": seconds,
                     "drain": f"{DEADLINE}s"},
        "oob": {**oob, "wait": f"{DEADLINE}s"},
    }


def mend(frame):
    """The frame with its ICRC made right again."""
    return frame[:-4] + icrc(frame[14:-4])


def patch(frame, offset, data):
    return frame[:offset] + data + frame[offset + len(data):]


class Sniffer:
    """Data frames that pass an interface."""

    def __init__(self, namespace, device):
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
        setns(there)
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.socket.bind((device, 3))
            self.socket.settimeout(1)
        finally:
            setns(own)
            os.close(own)
            os.close(there)

    def write_frame(self, peer):
        """A whole RDMA Write frame to the victim."""
        while True:
            try:
                frame = self.socket.recv(65536)
            except TimeoutError:
                if not peer.alive():
                    raise TooSlow from None
                continue
            if len(frame) > 100 and frame[12:14] == b"\x86\xdd" and frame[54 + 8] in range(0xC6, 0xCC) \
                    and frame[38:54] == socket.inet_pton(socket.AF_INET6, VICTIM):
                return frame


def foreign(macs):
    """Frames of other protocols."""
    lldp = bytes.fromhex("0180c200000e") + macs[6:] + b"\x88\xcc" + bytes(60)
    yield "LLDP", lldp, None
    yield "zeros", macs + bytes(1000), None
    yield "link header alone", macs + b"\x86\xdd", None
    yield "TCP", Path(PEER, VICTIM, "02:00:00:00:00:02", "02:00:00:00:00:01").frame(
        bytes(20)).replace(b"\x11\x40", b"\x06\x40", 1), "not_udp"
    yield "DNS", Path(PEER, VICTIM, "02:00:00:00:00:02", "02:00:00:00:00:01").frame(
        bytes(40), port=53), "udp_port"


def malformed(path, frame):
    """(what, frame, reason of the drop) made from a frame of the peer."""
    at = 54 + 8  # BTH
    yield "cut in the IP header", frame[:40], "ip_short"
    yield "cut in the payload", frame[:-40], "ip_length"
    yield "UDP length too large", patch(frame, 54 + 4, b"\xff\xf0"), "udp_length"
    yield "version 3", mend(patch(frame, at + 1, bytes([frame[at + 1] | 3]))), "bth_version"
    yield "Send of RoCE", mend(patch(frame, at, b"\x04")), "bth_opcode"
    yield "other partition", mend(patch(frame, at + 2, b"\x12\x34")), "bth_pkey"
    yield "bit flipped in the payload", frame[:-20] + bytes([frame[-20] ^ 4]) + frame[-19:], "icrc"
    yield "unknown QP", path.frame(write(0xFFFF00, 5, b"x" * 64), dscp=4), "qpn_unknown"
    yield "QP 1", path.frame(write(1, 5, b"x" * 64), dscp=4), "qpn_reserved"
    yield "SACK too long", path.frame(sack(0xFFFF00, 5) + bytes(4)), "control_length"
    yield "SACK with M 3", path.frame(sack(0xFFFF00, 5, mark=3)), "ext_reserved_m"


def hostile(path, frame):
    """Well-formed packets for a live QP from somebody who has seen a packet pass."""
    at = 54 + 8
    qpn = int.from_bytes(frame[at + 5:at + 8], "big")
    psn = int.from_bytes(frame[at + 9:at + 12], "big")
    source = socket.inet_pton(socket.AF_INET6, STRANGER)
    yield "the same from a stranger", mend(patch(frame, 22, source)), "addr_source"
    yield "to another address", mend(patch(frame, 38, source)), "addr_dest"
    yield "replayed", frame, "psn_duplicate"
    yield "far ahead", mend(patch(frame, at + 9, ((psn + 500000) & 0xFFFFFF).to_bytes(3, "big"))), \
        "psn_ahead"
    yield "trimmed, of a stranger", Path(STRANGER, VICTIM, "02:00:00:00:00:02",
                                         "02:00:00:00:00:01").frame(
        bth(0xCA, qpn, psn + 3) + bytes(8), dscp=packets.TRIMMED), "addr_source"
    # The victim sends nothing on this QP; ahead of its first PSN or behind it, by chance.
    yield "ACK of what was never sent", path.frame(ack(qpn, psn)), ("ack_unsent", "ack_stale")
    yield "SACK of what was never sent", path.frame(sack(qpn, psn)), ("ack_unsent", "ack_stale")
    yield "NACK unexpected event", path.frame(nack(qpn, (psn + 999999) & 0xFFFFFF, 0x19)), None
    yield "probe of a stranger", Path(STRANGER, VICTIM, "02:00:00:00:00:02", "02:00:00:00:00:01").frame(
        probe(qpn, 7), dscp=4), "addr_source"
    yield "EV probe of a stranger", Path(STRANGER, VICTIM, "02:00:00:00:00:02",
                                         "02:00:00:00:00:01").frame(ep_request(9, 1)), "ep_peer"
    yield "port status of a stranger", Path(STRANGER, VICTIM, "02:00:00:00:00:02",
                                            "02:00:00:00:00:01").frame(ep_request(9, 0)), "ep_peer"


def noise(frame, count):
    """Frames with random damage, and random frames."""
    rng = random.Random(SEED)
    for number in range(count):
        if number % 4 == 0:
            yield frame[:14] + rng.randbytes(rng.randrange(1, len(frame) - 14))
            continue
        damaged = bytearray(frame[:rng.randrange(14, len(frame))] if number % 4 == 1 else frame)
        for _ in range(rng.randrange(1, 9)):
            # Not the addresses of the link: the frame shall arrive.
            damaged[rng.randrange(12, len(damaged))] = rng.randrange(256)
        yield bytes(damaged)


def attack(namespaces, peer):
    """Sends everything while the peer transfers; returns {what: reasons under one of which it must be counted}."""
    wanted = {}
    path = Path(PEER, VICTIM, namespaces.mac("b", 0), namespaces.mac("a", 0))
    # At the far end: what the driver sends bypasses the near end's taps.
    sniffer = Sniffer(namespaces.a, "a0")
    with RawPort(namespaces.b, "b0") as port:
        for _ in range(COPIES):
            frame = sniffer.write_frame(peer)
            for what, bad, reason in [*foreign(path.macs), *malformed(path, frame),
                                      *hostile(path, frame)]:
                port.send(bad)
                pause()  # the victim's ring is short
                if reason:
                    wanted[what] = (reason,) if isinstance(reason, str) else reason
        for number, bad in enumerate(noise(frame, 20000)):
            port.send(bad)
            if number % 32 == 0:
                pause()
    return wanted


@case
def survives_counts_and_goes_on():
    long_enough(attacked, 8, 40, 200)


def attacked(seconds):
    with Namespaces(1) as net, tempfile.TemporaryDirectory() as folder:
        rendezvous = f"unix:{folder}/oob"
        files = [
            write_json(folder, "a.json", config("a", VICTIM, "net_af_packet0,iface=a0", "responder",
                                                {"listen": rendezvous}, seconds)),
            write_json(folder, "b.json", config("b", PEER, "net_af_packet0,iface=b0", "requester",
                                                {"connect": rendezvous}, seconds)),
        ]
        with Process(net.inside(net.a, MRC_DP, "run", "-c", files[0], "--json", "-l", "0")) as victim, \
                Process(net.inside(net.b, MRC_DP, "run", "-c", files[1], "--json", "-l", "1")) as peer:
            wanted = attack(net, peer)
            if not peer.alive() and not victim.alive() and victim.wait() == 0:
                raise TooSlow
            true(victim.alive(), f"the victim died: {victim.text()[-2000:]}")
            equal(peer.wait(), 0, f"requester: {peer.text()[-2000:]}")
            equal(victim.wait(), 0, f"responder: {victim.text()[-2000:]}")
            result, told = only_json(victim.text("out")), only_json(peer.text("out"))
    print(f"    drops {result['drops']}")
    for what, reasons in wanted.items():
        count = sum(result["drops"].get(reason, 0) for reason in reasons)
        true(count > 0, f"{what}: nothing counted as {' or '.join(reasons)}")
    for side in (result, told):
        equal(side["bytes_corrupt"], 0, "bytes corrupt")
        equal(side["qp_errors"], 0, "QP errors")
    true(told["bytes_verified"] > 0, "the transfer beside the attack")


main()
