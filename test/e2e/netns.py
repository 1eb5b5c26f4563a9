# SPDX-License-Identifier: BSD-2-Clause
"""Two network namespaces joined by veth pairs, one pair for each plane.

    [ namespace a: a0 a1 ... ] ==== veth ==== [ b0 b1 ... :namespace b ]
"""
import os
import socket
import subprocess

from common import Skip, need_root


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Namespaces:
    def __init__(self, planes=1, mtu=9000):
        need_root()
        self.planes, self.mtu = planes, mtu
        self.a, self.b = (f"mrc{os.getpid()}{side}" for side in "ab")

    def __enter__(self):
        try:
            for name in (self.a, self.b):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            for plane in range(self.planes):
                ip("link", "add", f"a{plane}", "netns", self.a, "mtu", str(self.mtu), "type", "veth",
                   "peer", "name", f"b{plane}", "netns", self.b, "mtu", str(self.mtu))
                for name, side in ((self.a, "a"), (self.b, "b")):
                    device = f"{side}{plane}"
                    ip("-n", name, "link", "set", device, "addrgenmode", "none")
                    ip("-n", name, "link", "set", device, "address", self.mac(side, plane))
                    ip("-n", name, "link", "set", device, "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in (self.a, self.b):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def mac(side, plane):
        return f"02:00:00:00:{plane:02x}:{'01' if side == 'a' else '02'}"

    @staticmethod
    def inside(name, *arguments):
        """Command line that runs a program in a namespace."""
        return ["ip", "netns", "exec", name, *arguments]


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
