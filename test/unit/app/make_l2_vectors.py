#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes l2_vectors.h: packets and the answers due to them, made by scapy.

An independent tool computes every checksum and option; the test compares bytes with it. Run it
again when a vector is added: python3 make_l2_vectors.py > l2_vectors.h
"""
from scapy.all import (ARP, Dot1Q, Ether, ICMP, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA,
                       ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IP, IPv6, Padding)

OWN, PEER, BCAST = "02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"
OWN4, PEER4 = "10.0.0.1", "10.0.0.2"
OWN6, PEER6 = "fd00::aabb:1", "fd00::ccdd:2"
SOL_OWN, SOL_OWN_MAC = "ff02::1:ffbb:1", "33:33:ff:bb:00:01"
SOL_PEER, SOL_PEER_MAC = "ff02::1:ffdd:2", "33:33:ff:dd:00:02"
ALL, ALL_MAC = "ff02::1", "33:33:00:00:00:01"


def pad(pkt):
    raw = bytes(pkt)
    return raw + bytes(max(0, 60 - len(raw)))


def ether(dst, src, vlan=False):
    head = Ether(dst=dst, src=src)
    return head / Dot1Q(prio=3, vlan=100) if vlan else head


def arp(vlan=False):
    ask = ether(BCAST, PEER, vlan) / ARP(op=1, hwsrc=PEER, psrc=PEER4, pdst=OWN4)
    answer = ether(PEER, OWN, vlan) / ARP(op=2, hwsrc=OWN, psrc=OWN4, hwdst=PEER, pdst=PEER4)
    return ask, answer


def nd_ns(src_mac, src, target, dst, dst_mac, option=True):
    pkt = ether(dst_mac, src_mac) / IPv6(src=src, dst=dst, hlim=255) / ICMPv6ND_NS(tgt=target)
    return pkt / ICMPv6NDOptSrcLLAddr(lladdr=src_mac) if option else pkt


def nd_na(src_mac, target, dst, dst_mac, solicited, override=1):
    return (ether(dst_mac, src_mac) / IPv6(src=target, dst=dst, hlim=255) /
            ICMPv6ND_NA(tgt=target, R=0, S=solicited, O=override) /
            ICMPv6NDOptDstLLAddr(lladdr=src_mac))


def echo4(data):
    ask = (ether(OWN, PEER) / IP(src=PEER4, dst=OWN4, ttl=9, id=77, tos=4) /
           ICMP(type=8, id=5, seq=6) / data)
    answer = (ether(PEER, OWN) / IP(src=OWN4, dst=PEER4, ttl=64, id=77, tos=4) /
              ICMP(type=0, id=5, seq=6) / data)
    return ask, answer


def echo6(data):
    ask = (ether(OWN, PEER) / IPv6(src=PEER6, dst=OWN6, hlim=9) /
           ICMPv6EchoRequest(id=5, seq=6, data=data))
    answer = (ether(PEER, OWN) / IPv6(src=OWN6, dst=PEER6, hlim=64) /
              ICMPv6EchoReply(id=5, seq=6, data=data))
    return ask, answer


VECTORS = {
    "arp_request": arp()[0], "arp_request_answer": arp()[1],
    "arp_vlan": arp(True)[0], "arp_vlan_answer": arp(True)[1],
    "arp_reply": ether(OWN, PEER) / ARP(op=2, hwsrc=PEER, psrc=PEER4, hwdst=OWN, pdst=OWN4),
    "arp_gratuitous": ether(BCAST, PEER) / ARP(op=1, hwsrc=PEER, psrc=PEER4, pdst=PEER4),
    "arp_probe": ether(BCAST, PEER) / ARP(op=1, hwsrc=PEER, psrc="0.0.0.0", pdst=OWN4),
    "arp_probe_answer": ether(PEER, OWN) /
    ARP(op=2, hwsrc=OWN, psrc=OWN4, hwdst=PEER, pdst="0.0.0.0"),
    "arp_asked": ether(BCAST, OWN) / ARP(op=1, hwsrc=OWN, psrc=OWN4, pdst=PEER4),
    "arp_verify": ether(PEER, OWN) / ARP(op=1, hwsrc=OWN, psrc=OWN4, pdst=PEER4),
    "arp_announced": ether(BCAST, OWN) / ARP(op=1, hwsrc=OWN, psrc=OWN4, pdst=OWN4),
    "arp_conflict": ether(BCAST, PEER) / ARP(op=1, hwsrc=PEER, psrc=OWN4, pdst=OWN4),
    "ns_multicast": nd_ns(PEER, PEER6, OWN6, SOL_OWN, SOL_OWN_MAC),
    "ns_unicast": nd_ns(PEER, PEER6, OWN6, OWN6, OWN, option=False),
    "ns_answer": nd_na(OWN, OWN6, PEER6, PEER, 1),
    "ns_probe": nd_ns(PEER, "::", OWN6, SOL_OWN, SOL_OWN_MAC, option=False),
    "ns_probe_answer": nd_na(OWN, OWN6, ALL, ALL_MAC, 0),
    "ns_asked": nd_ns(OWN, OWN6, PEER6, SOL_PEER, SOL_PEER_MAC),
    "ns_verify": nd_ns(OWN, OWN6, PEER6, PEER6, PEER),
    "na_solicited": nd_na(PEER, PEER6, OWN6, OWN, 1),
    "na_unsolicited": nd_na(PEER, PEER6, ALL, ALL_MAC, 0),
    "na_announced": nd_na(OWN, OWN6, ALL, ALL_MAC, 0),
    "echo4": echo4(b"abc")[0], "echo4_answer": echo4(b"abc")[1],
    "echo4_long": echo4(bytes(range(256)) * 5)[0],
    "echo4_long_answer": echo4(bytes(range(256)) * 5)[1],
    "echo6": echo6(b"abcde")[0], "echo6_answer": echo6(b"abcde")[1],
}


def main():
    print("/* SPDX-License-Identifier: BSD-2-Clause */")
    print("/* Made by make_l2_vectors.py with scapy; do not edit. */")
    print("/* clang-format off */")
    print("#ifndef L2_VECTORS_H\n#define L2_VECTORS_H\n\n#include <stdint.h>\n")
    for name, pkt in VECTORS.items():
        raw = pad(pkt)
        print(f"static const uint8_t vec_{name}[{len(raw)}] = {{")
        for off in range(0, len(raw), 16):
            print("\t" + " ".join(f"0x{b:02x}," for b in raw[off:off + 16]))
        print("};\n")
    print("#endif")


main()
