# SPDX-License-Identifier: BSD-2-Clause
"""The client's half of a memif connection by hand, so far as a test needs it to break off."""
import array
import os
import socket
import struct

ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED = 1, 2, 3, 4, 5, 6, 7
MESSAGE_LEN = 128
COOKIE = 0x3E31F20
REGION_LEN = 1 << 22
RING_AT = (0, 1 << 20)  # client to server, server to client
STEPS = 6


class Client:
    """Comes as far as `steps` of the handshake and leaves without a word."""

    def __init__(self, path, interface):
        self.path, self.interface = path, interface
        self.memory = os.memfd_create("rings")
        os.truncate(self.memory, REGION_LEN)
        for at in RING_AT:
            os.pwrite(self.memory, struct.pack("<I", COOKIE), at)
        self.event = os.eventfd(0) if hasattr(os, "eventfd") else os.memfd_create("event")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.memory)
        os.close(self.event)

    def messages(self):
        """Type, body, descriptor."""
        yield INIT, struct.pack("<HIB24s32s", 0x200, self.interface, 0, b"", b"test"), None
        yield ADD_REGION, struct.pack("<HI", 0, REGION_LEN), self.memory
        for number, at in enumerate(RING_AT):
            yield ADD_RING, struct.pack("<HHHIBH", 1 - number, 0, 0, at, 10, 0), self.event
        yield CONNECT, struct.pack("<32s", b"test"), None

    def come_and_go(self, steps, patient=True):
        """steps 0: leaves at once, 1: when greeted, then one more for each message. Returns the
        types of the answers."""
        answers = []
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
            for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):  # a connect waits for a place in the queue
                control.setsockopt(socket.SOL_SOCKET, limit, struct.pack("ll", 10, 0))
            control.connect(self.path)
            if steps == 0:
                return answers
            answers.append(struct.unpack_from("<H", control.recv(MESSAGE_LEN))[0])
            for (kind, body, descriptor), _ in zip(self.messages(), range(steps - 1)):
                message = struct.pack("<H", kind) + body
                rights = [] if descriptor is None else \
                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
                control.sendmsg([message.ljust(MESSAGE_LEN, b"\0")], rights)
                if patient:
                    answer = control.recv(MESSAGE_LEN)
                    if not answer:
                        raise ConnectionResetError("closed by the server")
                    answers.append(struct.unpack_from("<H", answer)[0])
        return answers
