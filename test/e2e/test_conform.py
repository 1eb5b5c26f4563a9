#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of the specification audited on the wire: captures of a lossy run, read by a decoder that
shares nothing with the C code.

The requester's ports are captured, so its frames are seen as sent and the responder's as received.
"""
import functools
import os
import struct
import tempfile

from common import MRC_DP, case, equal, main, run, true, write_json
from packets import ip_offset, read_pcap

REQUESTER, RESPONDER = "fd00::1", "fd00::2"
PMTU, MESSAGE, MESSAGES, QPS = 1024, 9001, 60, 2
ECT0, CONTROL, DATA, RETX = 2, 46, (0, 4), (0, 8)


class Packet:
    """The fields that the rules speak of."""

    def __init__(self, frame):
        at = ip_offset(frame)
        word, = struct.unpack_from("!I", frame, at)
        self.dscp, self.ecn = word >> 22 & 63, word >> 20 & 3
        self.source = frame[at + 8:at + 24]
        udp = at + 40
        sport, self.port, _, self.udp_sum = struct.unpack_from("!HHHH", frame, udp)
        self.ev = (word & 0xFFFF) << 16 | sport
        self.bth = udp + 8
        self.opcode = frame[self.bth]
        self.qpn = int.from_bytes(frame[self.bth + 5:self.bth + 8], "big")
        flags = frame[self.bth + 8]
        self.ackreq, self.rtx, self.ts = flags >> 7, flags >> 5 & 1, flags >> 4 & 1
        self.psn = int.from_bytes(frame[self.bth + 9:self.bth + 12], "big")
        self.pad = frame[self.bth + 1] >> 4 & 3
        self.body = frame[self.bth + 12:-4]
        if self.is_write():
            self.take_write()

    def is_write(self):
        return 0xC6 <= self.opcode <= 0xCB

    def take_write(self):
        self.rqmsn, self.msn = struct.unpack_from("!HH", self.body)
        at = 4
        self.stamp = None
        if self.ts:
            self.stamp, = struct.unpack_from("!H", self.body, at)
            equal(self.body[at + 3] & 15, 1, "TSETH ftype")
            at += 4
        self.va, self.rkey, self.dma = struct.unpack_from("!QII", self.body, at)
        at += 16
        self.imm = self.body[at:at + 4] if self.opcode in (0xC9, 0xCB) else None
        at += 4 if self.imm else 0
        self.payload = self.body[at:len(self.body) - self.pad]


def record(folder, message, loss):
    """Packets of MRC on both ports of the requester, in order of time."""
    paths = [os.path.join(folder, f"plane{p}.pcap") for p in range(2)]
    planes = [{"device": "fabric", "capture": path} for path in paths]
    config = {
        "pmtu": PMTU,
        "endpoints": [{"name": "a", "address": REQUESTER, "planes": planes},
                      {"name": "b", "address": RESPONDER, "planes": [{"device": "fabric"}] * 2}],
        "fabric": {"leaves": 2, "spines": 2, "seed": 7,
                   "faults": [{"kind": "loss", "rate": loss}]},
        "ev": {"mode": "stev"},
        "workload": {"qps": QPS, "message": message, "messages": MESSAGES, "depth": 4,
                     "immediate_percent": 40},
    }
    done = run([MRC_DP, "run", "-c", write_json(folder, "run.json", config), "--json"])
    equal(done.code, 0, done.err[-2000:])
    frames = []
    for path in paths:
        frames += [Packet(f) for f, _ in read_pcap(path) if f[12:14] == b"\x86\xdd"
                   and f[20] == 17 and f[56:58] == b"\x12\xb7"]
    return frames


def packets(message=MESSAGE, loss="2%"):
    return _packets(message, loss)


@functools.lru_cache
def _packets(message, loss):
    with tempfile.TemporaryDirectory() as folder:
        return record(folder, message, loss)


def sent(message=MESSAGE):
    """{responder's QPN: {PSN: [transmissions, first one first]}}"""
    flows = {}
    for packet in packets(message):
        if packet.is_write():
            flows.setdefault(packet.qpn, {}).setdefault(packet.psn, []).append(packet)
    for flow in flows.values():
        for copies in flow.values():
            copies.sort(key=lambda p: p.rtx)
    return flows


def in_order(flow):
    """First transmissions by PSN, beginning with the lowest of the run (24 bits wrap)."""
    start = next(p for p in flow if (p - 1) & 0xFFFFFF not in flow)
    return [flow[(start + i) & 0xFFFFFF][0] for i in range(len(flow))]


def messages_of(flow):
    """Lists of packets, one list a message."""
    whole, current = [], []
    for packet in in_order(flow):
        current.append(packet)
        if packet.opcode in (0xC8, 0xC9, 0xCA, 0xCB):
            whole.append(current)
            current = []
    equal(current, [], "packets behind the last message")
    return whole


def answers(opcode, loss="2%"):
    return [p for p in packets(MESSAGE, loss) if p.opcode == opcode]


def responder_of():
    """{requester's QPN: responder's QPN}, told by which PSNs an answer speaks of."""
    pairs = {}
    for sack in answers(0xDC):
        cack = int.from_bytes(sack.body[13:16], "big")
        for qpn, flow in sent().items():
            if cack in flow or (cack + 1) & 0xFFFFFF in flow:
                pairs.setdefault(sack.qpn, qpn)
    return pairs


@case
def psns_are_without_gap():
    """spec: R-3.3.6, R-3.3.5"""
    equal(len(sent()), QPS, "QPs")
    count = sum(len(in_order(flow)) for flow in sent().values())
    equal(count, MESSAGES * -(-MESSAGE // PMTU), "packets of all QPs")


@case
def shape_of_messages():
    """spec: R-2.1.2, R-1.1.1, R-1.1.2, R-1.6.1, R-1.6.2"""
    for flow in sent().values():
        for message in messages_of(flow):
            equal(message[0].opcode, 0xC6, "first packet")
            true(message[-1].opcode in (0xC8, 0xC9), "last packet")
            for number, packet in enumerate(message):
                last = number == len(message) - 1
                equal(packet.va, message[0].va + number * PMTU, "address of a packet")
                equal((packet.rkey, packet.dma), (message[0].rkey, MESSAGE), "key and DMA length")
                equal(len(packet.payload), MESSAGE - number * PMTU if last else PMTU, "payload")
                true(last or number == 0 or packet.opcode == 0xC7, "packet in the middle")


@case
def short_messages_are_only_packets():
    """spec: R-2.1.2, R-1.6.3"""
    for flow in sent(500).values():
        for packet in in_order(flow):
            true(packet.opcode in (0xCA, 0xCB), f"opcode {packet.opcode:x}")
            equal((len(packet.payload), packet.dma), (500, 500), "payload and DMA length")
            equal(packet.imm is not None, packet.opcode == 0xCB, "immediate")


@case
def message_numbers():
    """spec: R-1.4.1, R-1.4.2, R-1.4.3"""
    for flow in sent().values():
        immediates = 0
        for number, message in enumerate(messages_of(flow)):
            equal({p.msn for p in message}, {number}, "MSN of every packet of a message")
            if message[-1].opcode == 0xC9:
                equal(message[-1].rqmsn, immediates, "RQMSN of a write with immediate")
                immediates += 1
            else:
                equal({p.rqmsn for p in message}, {0}, "RQMSN of a plain write")
        true(0 < immediates < number + 1, f"{immediates} immediates")


@case
def data_packets_on_the_wire():
    """spec: R-1.2.2, R-1.2.4, R-1.5.1, R-3.10.1"""
    evs = set()
    for packet in packets():
        if packet.is_write():
            equal((packet.udp_sum, packet.ecn, packet.ts), (0, ECT0, 1), "checksum, ECN, timestamp")
            true(packet.dscp in (RETX if packet.rtx else DATA), f"DSCP {packet.dscp}")
            evs.add(packet.ev)
    true(len(evs) > 16, f"{len(evs)} paths used")


@case
def retransmissions():
    """spec: R-3.9.1"""
    again = 0
    for flow in sent().values():
        for psn, copies in flow.items():
            true(copies[0].rtx == 0, f"PSN {psn}: no first transmission")
            for copy in copies[1:]:
                again += 1
                equal(copy.rtx, 1, f"PSN {psn}: rtx of a repeat")
                equal((copy.opcode, copy.va, copy.rkey, copy.dma, copy.msn, copy.rqmsn, copy.imm,
                       copy.payload),
                      (copies[0].opcode, copies[0].va, copies[0].rkey, copies[0].dma,
                       copies[0].msn, copies[0].rqmsn, copies[0].imm, copies[0].payload),
                      f"PSN {psn}: a repeat says the same")
    print(f"    {again} repeats")
    true(again > 0, "a lossy run repeats packets")


@case
def sacks_name_what_they_answer():
    """spec: R-1.3.5, R-1.3.8, R-1.8.2, R-1.8.4, R-1.8.5, R-3.4.8, R-3.6.1"""
    pairs, checked = responder_of(), 0
    for sack in answers(0xDC):
        cack = int.from_bytes(sack.body[13:16], "big")
        equal(sack.psn, cack, "BTH.psn is cack_psn")
        equal(sack.dscp, CONTROL, "class")
        equal(len(sack.body), 36, "SETH and CC_STATE")
        equal(sack.body[17], 0, "mpr without Dynamic MPR")
        if sack.body[1] >> 1 & 1:
            continue  # answers a probe
        offset, ev = struct.unpack_from("!hI", sack.body, 2)
        stamp, = struct.unpack_from("!H", sack.body, 28)
        copies = sent()[pairs[sack.qpn]][(cack + offset) & 0xFFFFFF]
        true((ev, stamp) in {(c.ev, c.stamp) for c in copies},
             f"PSN {cack + offset & 0xFFFFFF}: echo {ev:08x} {stamp} of no transmission")
        true(not sack.rtx or len(copies) > 1, "rtx only for what was sent again")
        checked += 1
    print(f"    {checked} SACKs")
    true(checked > 20, "SACKs seen")


@case
def bitmaps_show_what_was_sent():
    """spec: R-1.8.1, R-1.8.3, R-3.5.3"""
    pairs, bits_seen = responder_of(), 0
    for sack in answers(0xDC):
        cack = int.from_bytes(sack.body[13:16], "big")
        offset, bits = struct.unpack_from("!hQ", sack.body, 18)
        flow = sent()[pairs[sack.qpn]]
        for bit in range(64):
            distance = offset + bit
            if bits >> bit & 1 and distance > 0:
                true((cack + distance) & 0xFFFFFF in flow, "a bit for a PSN never sent")
                bits_seen += 1
            true(distance > 0 or bits >> bit & 1, "a PSN at or below cack_psn reads 0")
        true(offset > 1 or not bits >> (1 - offset) & 1 or offset + 63 < 1,
             "cack_psn + 1 is missing by definition")
    print(f"    {bits_seen} bits above cack_psn")
    true(bits_seen > 0, "a lossy run leaves holes")


@case
def transport_acks():
    """spec: R-1.3.5, R-1.7.1, R-3.4.8"""
    last = {}
    for ack in answers(0xD1):
        word, = struct.unpack("!I", ack.body)
        equal((ack.dscp, word >> 24), (CONTROL, 0x1F), "class and syndrome")
        last[ack.qpn] = max(last.get(ack.qpn, 0), word & 0xFFFFFF)
    want = [len(messages_of(flow)) for flow in sent().values()]
    equal(sorted(last.values()), sorted(want), "MSN of the last ACK counts all messages")


@case
def probes_and_their_answers():
    """spec: R-1.3.5, R-1.10.1, R-3.13.1, R-3.13.2, R-3.4.5"""
    loss = "5%"  # of each link: enough for tails to be lost
    asked = {struct.unpack_from("!H", p.body, 4)[0] for p in answers(0xDE, loss)}
    for probe in answers(0xDE, loss):
        equal(probe.psn, 0, "PSN of a probe")
        true(probe.dscp in DATA, f"DSCP {probe.dscp}")
    told = {struct.unpack_from("!H", s.body, 2)[0] for s in answers(0xDC, loss)
            if s.body[1] >> 1 & 1}
    print(f"    {len(asked)} probes, {len(told)} answered")
    true(asked and told, "probes are sent and answered")
    true(told <= asked, f"answers to nothing: {told - asked}")


@case
def endpoint_operations():
    """spec: R-1.3.6, R-3.14.1, R-3.14.2, R-1.11.1, R-1.12.1"""
    requests, responses = answers(0xD8), answers(0xD9)
    for packet in requests + responses:
        equal(packet.qpn, 2, "QP")
        true(packet.psn < 0x10000, "request id of 16 bits")
    for response in responses:
        equal(response.dscp, CONTROL, "class of an answer")
    mine = {p.psn for p in requests if p.source[-1] == 1}
    true(mine, "EV probes are sent")
    true({p.psn for p in responses if p.source[-1] == 2} <= mine, "answers to nothing")


main()
