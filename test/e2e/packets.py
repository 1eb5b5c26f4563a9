# SPDX-License-Identifier: BSD-2-Clause
"""MRC packets written from the tables of the specification in Python, sharing nothing with the C
code: what one of them says and the other understands is therefore a check of both.

Addresses are text, EVs 32-bit numbers (source port = low half, flow label = high half). Each builder
returns a whole Ethernet frame with a right ICRC; `spoil` and friends break it.
"""
import socket
import struct
import zlib

UDP_PORT = 4791
CONTROL, NO_TRIM, TRIMMED, TRIMMABLE, RETX, LASTHOP = 46, 0, 12, 4, 8, 16
WRITE_ONLY, WRITE_ONLY_IMM, ACK, EP_REQUEST, EP_RESPONSE = 0xCA, 0xCB, 0xD1, 0xD8, 0xD9
SACK, NACK, PROBE = 0xDC, 0xDD, 0xDE


def address(text):
    """(version, bytes) of an address."""
    if ":" in text:
        return 6, socket.inet_pton(socket.AF_INET6, text)
    return 4, socket.inet_pton(socket.AF_INET, text)


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def icrc(ip_packet):
    """ICRC of an IP packet that ends where the ICRC will stand, in wire order."""
    masked = bytearray(ip_packet)
    if masked[0] >> 4 == 4:
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
        udp = 20
    else:
        masked[0] |= 0x0F
        masked[1] = masked[2] = masked[3] = masked[7] = 0xFF
        udp = 40
    masked[udp + 6] = masked[udp + 7] = 0xFF
    masked[udp + 8 + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))


class Path:
    """Where frames come from and go to."""

    def __init__(self, source, target, source_mac, target_mac, ev=0x0000C123):
        self.version, self.source = address(source)
        _, self.target = address(target)
        self.macs = bytes.fromhex((target_mac + source_mac).replace(":", ""))
        self.ev = ev

    def frame(self, transport, dscp=CONTROL, ecn=0, port=UDP_PORT, crc=True):
        """Frame around BTH and what follows; the ICRC is added here."""
        length = 8 + len(transport) + 4
        udp = struct.pack("!HHHH", self.ev & 0xFFFF, port, length, 0)
        tos = dscp << 2 | ecn
        if self.version == 4:
            header = struct.pack("!BBHHHBBH", 0x45, tos, 20 + length, 0, 0x4000, 64, 17, 0)
            header += self.source + self.target
            header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
            kind = b"\x08\x00"
        else:
            word = 6 << 28 | tos << 20 | (self.ev >> 16 & 0xFFFFF)
            header = struct.pack("!IHBB", word, length, 17, 64) + self.source + self.target
            kind = b"\x86\xdd"
        packet = header + udp + transport
        return self.macs + kind + packet + (icrc(packet) if crc else b"\0\0\0\0")


def bth(opcode, qpn, psn, pad=0, flags=0, pkey=0xFFFF, version=0):
    return struct.pack("!BBHII", opcode, pad << 4 | version, pkey, qpn & 0xFFFFFF,
                       flags << 24 | psn & 0xFFFFFF)


def write(qpn, psn, payload, va=0, rkey=0, msn=0, rqmsn=0, imm=None, flags=0x80, dma_len=None):
    """BTH to pad of an Only packet."""
    pad = -len(payload) % 4
    length = len(payload) if dma_len is None else dma_len
    out = bth(WRITE_ONLY if imm is None else WRITE_ONLY_IMM, qpn, psn, pad, flags)
    out += struct.pack("!HH", rqmsn, msn) + struct.pack("!QII", va, rkey, length)
    return out + (imm or b"") + payload + bytes(pad)


def ack(qpn, psn, syndrome=0x1F, msn=0):
    return bth(ACK, qpn, psn) + struct.pack("!I", syndrome << 24 | msn)


def sack(qpn, cack, bitmap=0, offset=0, sack_offset=1, ev=0, mark=0, penalty=0):
    return (bth(SACK, qpn, cack) + struct.pack("!BBhIHHI", 0, mark << 5, offset, ev, 0, 0, cack)
            + struct.pack("!BBhQ", 0, 0, sack_offset, bitmap)
            + struct.pack("!HHI", 0, 0, penalty << 24))


def nack(qpn, psn, reason, ev=0):
    return (bth(NACK, qpn, psn) + struct.pack("!HBBIHHI", 0, reason, 0, ev, 0, 0, psn)
            + struct.pack("!BBH", 0x20, 0, 0))


def probe(qpn, number):
    return bth(PROBE, qpn, 0) + struct.pack("!IHHHHHH", 0, number, 0, 0, 0, 0, 1)


def ep_request(number, operation, mask=0):
    return bth(EP_REQUEST, 2, number) + struct.pack("!BBBBIIHH", 0, operation, 0, 0, mask, 0, 0, 1)


def ep_response(number, operation):
    return (bth(EP_RESPONSE, 2, number) + struct.pack("!BB", 0, operation << 2) + bytes(26)
            + struct.pack("!H", 0) + bytes(6))


def ip_offset(frame, inner=True):
    """Where the (inner) IP header of a frame begins."""
    at = 18 if frame[12:14] == b"\x81\x00" else 14
    if not inner or frame[at] >> 4 == 4 or frame[at + 6] == 17:
        return at
    return at + 40 + (24 if frame[at + 6] == 43 else 0)


def read_pcap(path):
    """[(bytes captured, bytes on the wire)]"""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        raise ValueError(f"pcap magic {data[:4].hex()}")
    at, frames = 24, []
    while at < len(data):
        kept, wire = struct.unpack_from("<II", data, at + 8)
        frames.append((data[at + 16:at + 16 + kept], wire))
        at += 16 + kept
    return frames
