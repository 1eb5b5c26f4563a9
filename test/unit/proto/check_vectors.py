#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the frames of mrc-vectors with code that is not ours.

Lengths, header checksums and the ICRC by scapy's layers; the fields of the MRC headers by their
places in the tables of the specification, written down here once more.

check_vectors.py MRC-VECTORS
"""
import logging
import struct
import subprocess
import sys
import unittest
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)
try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw
except ImportError:
    sys.exit(77)  # meson: skipped

FRAMES = {}

# Byte behind the BTH, format, what the example holds. Opcodes by number.
SETH = ((0, "B", 0), (1, "B", 2 << 5), (2, "h", -0x102), (4, "I", 0x61626364), (8, "H", 0x1112),
        (10, "H", 0x2122), (12, "I", 0x919293), (16, "B", 0x09), (17, "B", 31), (18, "h", -0x302),
        (20, "Q", 0x8182838485868788),
        (28, "H", 0x5152), (30, "H", 0x4142), (32, "I", 1 << 31 | 0x65 << 24 | 0x717273))
NETH = ((0, "H", 0), (2, "B", 6), (3, "B", 0), (4, "I", 0x41424344), (8, "H", 0x1112),
        (10, "H", 0x2122), (12, "I", 0x515253), (16, "B", 0x20), (17, "B", 0), (18, "H", 0x3132))
PETH = ((0, "I", 0), (4, "H", 0x1112), (6, "H", 0), (8, "H", 0x2122), (10, "H", 0x3132),
        (12, "H", 0x4142), (14, "H", 1))
ERTH = ((0, "I", 0), (4, "I", 0x11121314), (8, "I", 0), (12, "H", 0x2122), (14, "H", 1))
EETH = tuple((at, "B", {1: 1 << 2, 28: 0x11, 29: 0x12}.get(at, 0)) for at in range(36))
AETH = ((0, "I", 0x1F616263),)
WRITE = ((0, "H", 0x4142), (2, "H", 0x3132), (4, "H", 0x5152), (6, "H", 1),
         (8, "Q", 0x0102030405060708), (16, "I", 0x11121314), (20, "I", 0x21222324))
WRITE_IMM = WRITE + ((24, "I", 0x61626364),)
KINDS = {  # name: opcode, PSN, destination QP, AckReq rtx ts, headers, payload
    "write_first": (0xC6, 0xD1D2D3, 0xC1C2C3, 0xB0, WRITE, 256),
    "write_middle": (0xC7, 0xD1D2D3, 0xC1C2C3, 0xB0, WRITE, 256),
    "write_last": (0xC8, 0xD1D2D3, 0xC1C2C3, 0xB0, WRITE, 21),
    "write_last_imm": (0xC9, 0xD1D2D3, 0xC1C2C3, 0xB0, WRITE_IMM, 21),
    "write_only": (0xCA, 0xD1D2D3, 0xC1C2C3, 0xB0, WRITE, 21),
    "write_only_imm": (0xCB, 0xD1D2D3, 0xC1C2C3, 0xB0, WRITE_IMM, 21),
    "ack": (0xD1, 0xD1D2D3, 0xC1C2C3, 0x00, AETH, 0),
    "ep_req": (0xD8, 0xD2D3, 2, 0x00, ERTH, 0),
    "ep_rsp": (0xD9, 0xD2D3, 2, 0x00, EETH, 0),
    "sack": (0xDC, 0xD1D2D3, 0xC1C2C3, 0x20, SETH, 0),
    "nack": (0xDD, 0xD1D2D3, 0xC1C2C3, 0x00, NETH, 0),
    "probe": (0xDE, 0, 0xC1C2C3, 0x00, PETH, 0),
}


def split(name):
    """Name of the kind, shape."""
    kind, _, shape = name.partition("-")
    return kind, shape


def icrc(udp):
    """Scapy's own for IPv4; the same steps on scapy's IPv6, which it leaves out."""
    ip = udp.underlayer
    if isinstance(ip, IP):
        return udp[BTH].compute_icrc(b"")
    masked = ip.copy()
    masked.tc, masked.fl, masked.hlim = 0xFF, 0xFFFFF, 0xFF
    masked[UDP].chksum = 0xFFFF
    masked[BTH].fecn, masked[BTH].becn, masked[BTH].resv6 = 1, 1, 0x3F
    body = masked[BTH].self_build() + bytes(masked[BTH].payload)
    masked[UDP].payload = Raw(body)
    return BTH.pack_icrc(zlib.crc32(b"\xff" * 8 + bytes(masked)) & 0xFFFFFFFF)


class Vectors(unittest.TestCase):
    """spec: R-1.1.1, R-1.8.1, R-1.9.1, R-1.10.1, R-1.11.1, R-1.12.1, R-1.13.1"""
    name = "all"

    def _formatMessage(self, msg, standardMsg):
        return f"{self.name}: {super()._formatMessage(msg, standardMsg)}"

    def each(self, trimmed=False):
        for self.name, frame in FRAMES.items():
            if self.name.endswith("-trimmed") == trimmed:
                yield self.name, frame, Ether(frame)
        self.name = "all"

    def test_all_kinds_are_there(self):
        shapes = {split(name)[1] for name in FRAMES}
        self.assertEqual(len(shapes), 16)  # {v4, v6, srv6, srh} x {, vlan} x {, trimmed}
        self.assertEqual({split(name)[0] for name in FRAMES}, set(KINDS))
        self.assertEqual(len(FRAMES), (12 + 6) * 8)

    def test_icrc(self):
        count = 0
        for _, frame, packet in self.each():
            stored = frame[-4:]
            self.assertEqual(icrc(packet[UDP]).hex(), stored.hex())
            count += 1
        self.assertEqual(count, 96)

    def test_lengths(self):
        for _, frame, packet in self.each():
            udp = packet[UDP]
            ip, layer, rest = udp.underlayer, packet.payload, len(frame) - 14
            self.assertEqual(udp.dport, 4791)
            self.assertEqual(udp.chksum, 0)
            if layer.name == "802.1Q":
                self.assertEqual(layer.vlan, 5)
                layer, rest = layer.payload, rest - 4
            if isinstance(layer, IPv6):
                self.assertEqual(layer.plen, rest - 40)
            while layer is not ip:
                rest -= len(layer) - len(layer.payload)
                layer = layer.payload
            self.assertEqual(ip.len if isinstance(ip, IP) else ip.plen + 40, rest)
            self.assertEqual(udp.len, rest - (20 if isinstance(ip, IP) else 40))

    def test_ipv4_checksum(self):
        for _, frame, packet in self.each():
            if IP not in packet:
                continue
            again = packet[IP].copy()
            del again.chksum
            self.assertEqual(IP(bytes(again)).chksum, packet[IP].chksum)

    def test_entropy(self):
        for name, _, packet in self.each():
            udp = packet[UDP]
            self.assertEqual(udp.sport, 0x4321)
            layer = packet.getlayer(IPv6)
            while isinstance(layer, IPv6):
                self.assertEqual(layer.fl, 0xABCD, name)
                layer = layer.payload.getlayer(IPv6)

    def test_fields(self):
        for name, frame, packet in self.each():
            opcode, psn, dqpn, bits, fields, payload = KINDS[split(name)[0]]
            bth = len(frame) - len(bytes(packet[UDP].payload))
            body = frame[bth + 12:]
            self.assertEqual(frame[bth], opcode)
            self.assertEqual(frame[bth + 1] >> 4 & 3, -payload % 4)
            self.assertEqual(frame[bth + 2:bth + 5], b"\xff\xff\0")
            self.assertEqual(int.from_bytes(frame[bth + 5:bth + 8], "big"), dqpn)
            self.assertEqual(frame[bth + 8], bits)
            self.assertEqual(int.from_bytes(frame[bth + 9:bth + 12], "big"), psn)
            end = 0
            for at, form, value in fields:
                self.assertEqual(struct.unpack_from(">" + form, body, at)[0], value, at)
                end = at + struct.calcsize(form)
            self.assertEqual(len(body), end + payload + -payload % 4 + 4)
            self.assertEqual(body[end:end + payload], bytes(i * 7 + 1 & 255 for i in range(payload)))

    def test_trimmed_ones_are_the_beginning(self):
        for name, frame, packet in self.each(trimmed=True):
            whole = FRAMES[name.removesuffix("-trimmed")]
            bth = len(frame) - len(bytes(packet[UDP].payload))
            self.assertEqual(frame[bth - 8:], whole[bth - 8:len(frame)])


def main():
    out = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        name, _, data = line.partition(" ")
        FRAMES[name] = bytes.fromhex(data)
    unittest.main(argv=[sys.argv[0], "-v"])


main()
