# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces joined by veth pairs, one pair for each plane.

    [ namespace a: a0 a1 ... ] ==== veth ==== [ b0 b1 ... :namespace b ]
"""
import os
import socket
import subprocess

from common import Skip, need_root


def ip(*arguments):
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Skip("needs the program ip (package iproute2)") from missing
    if done.returncode != 0:
        raise Skip(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Net:
    """Namespaces with veth pairs between them; all of it gone on leaving the `with` block."""

    def __init__(self, sides, mtu):
        need_root()
        self.mtu = mtu
        self.names = [f"mrc{os.getpid()}{side}" for side in sides]

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            self.wire()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def wire(self):
        """Makes the pairs."""

    def pair(self, *ends):
        """One veth pair; an end is (namespace, interface, link address)."""
        (left, left_device, _), (right, right_device, _) = ends
        ip("link", "add", left_device, "netns", left, "mtu", str(self.mtu), "type", "veth",
           "peer", "name", right_device, "netns", right, "mtu", str(self.mtu))
        for name, device, mac in ends:
            ip("-n", name, "link", "set", device, "addrgenmode", "none")
            ip("-n", name, "link", "set", device, "address", mac)
            ip("-n", name, "link", "set", device, "up")

    @staticmethod
    def inside(name, *arguments):
        """Command line that runs a program in a namespace."""
        return ["ip", "netns", "exec", name, *arguments]


class Namespaces(Net):
    def __init__(self, planes=1, mtu=9000):
        super().__init__("ab", mtu)
        self.planes = planes
        self.a, self.b = self.names

    def wire(self):
        for plane in range(self.planes):
            self.pair((self.a, f"a{plane}", self.mac("a", plane)),
                      (self.b, f"b{plane}", self.mac("b", plane)))

    @staticmethod
    def mac(side, plane):
        return f"02:00:00:00:{plane:02x}:{'01' if side == 'a' else '02'}"


class Star(Net):
    """Hosts around a fabric, one pair for each host and plane.

        [ alice: va0 va1 ] ==== [ fa0 fa1 :fabric: fb0 fb1 ] ==== [ vb0 vb1 :bob ]
    """

    def __init__(self, planes=2, mtu=9000):
        super().__init__("abf", mtu)
        self.planes = planes
        self.alice, self.bob, self.fabric = self.names

    def wire(self):
        for plane in range(self.planes):
            for number, side in enumerate("ab"):
                self.pair((self.names[number], f"v{side}{plane}", f"02:00:00:00:{plane:02x}:0{number}"),
                          (self.fabric, f"f{side}{plane}", f"02:00:00:00:{plane:02x}:f{number}"))


class RawPort:
    """A raw socket on an interface of a namespace: frames out."""

    def __init__(self, namespace, device):
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
        setns(there)
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.bind((device, 0))
        finally:
            setns(own)
            os.close(own)
            os.close(there)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame):
        """Sends a frame, waiting for room in the socket's buffer."""
        self.socket.send(frame)


def setns(descriptor):
    import ctypes  # os.setns came with Python 3.12

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, 0x40000000) != 0:
        raise Skip(f"setns: {os.strerror(ctypes.get_errno())}")
