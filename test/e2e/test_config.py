#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Wrong configurations: each ends the program within two seconds, before anything has started, with
one line that names file, key, value and remedy."""
import copy
import tempfile

from common import MRC_DP, case, equal, main, run, true, write_json

PLANE = {"device": "fabric"}
GOOD = {
    "endpoints": [{"name": "a", "address": "fd00::1", "planes": [PLANE, PLANE]},
                  {"name": "b", "address": "fd00::2", "planes": [PLANE, PLANE]}],
    "fabric": {"leaves": 2, "spines": 2},
    "workload": {"qps": 2, "message": "4KiB", "messages": 4, "depth": 1},
}


def put(*path):
    """A change of GOOD: put(key, ..., value); a value of None removes the key."""
    *keys, last, value = path

    def change(document):
        for key in keys:
            document = document[key] if isinstance(document, list) else document.setdefault(key, {})
        if value is None:
            del document[last]
        else:
            document[last] = value
    return change


def device(text):
    return put("endpoints", 0, "planes", 0, {"device": text})


def one_endpoint(document):
    del document["endpoints"][1]


def many_lcores(document):
    document["endpoints"][0].update(workers=2, lcores=[0, 4000])


# (what is wrong, change or text of the file, words that the line must hold)
WRONG = [
    ("not JSON", "{\n  \"endpoints\": [\n}", ["3"]),
    ("empty file", "", []),
    ("key given twice", '{"pmtu": 1024, "pmtu": 2048, "endpoints": []}', ["pmtu"]),
    ("something behind the text", '{"endpoints": []} x', []),
    ("unknown key", put("workloda", {}), ["workloda", "workload"]),
    ("unknown key inside", put("workload", "qp", 3), ["workload", "qp", "qps"]),
    ("required key missing", put("endpoints", 0, "address", None), ["endpoints[0]", "address"]),
    ("no endpoints", put("endpoints", []), ["endpoints"]),
    ("string for a number", put("workload", "qps", "two"), ["workload.qps", "two"]),
    ("number for a string", put("endpoints", 0, "name", 7), ["endpoints[0].name", "7"]),
    ("fraction", put("workload", "qps", 1.5), ["workload.qps", "1.5"]),
    ("below the range", put("workload", "depth", 0), ["workload.depth", "0", "1"]),
    ("above the range", put("qp", {"timeout": 25}), ["qp.timeout", "25", "24"]),
    ("negative", put("workload", "qps", -1), ["workload.qps", "-1"]),
    ("not a path MTU", put("pmtu", 1500), ["pmtu", "1500", "1024"]),
    ("unknown word", put("ev", {"mode": "hash"}), ["ev.mode", "hash", "udp"]),
    ("unknown unit", put("workload", "message", "4 KBytes"), ["workload.message", "4 KBytes", "KiB"]),
    ("not an address", put("endpoints", 0, "address", "fd00::1::2"), ["address", "fd00::1::2"]),
    ("same address twice", put("endpoints", 1, "address", "fd00::1"), ["address", "endpoints[1]"]),
    ("multicast address", put("endpoints", 0, "address", "ff02::1"),
     ["endpoints[0].address", "multicast"]),
    ("unspecified address", put("endpoints", 1, "address", "::"),
     ["endpoints[1].address", "unspecified"]),
    ("loopback address", put("endpoints", 1, "address", "127.0.0.1"),
     ["endpoints[1].address", "loopback"]),
    ("broadcast address", put("endpoints", 0, "address", "255.255.255.255"),
     ["endpoints[0].address", "broadcast"]),
    ("empty message", put("workload", "message", 0), ["workload.message", "0"]),
    ("message of 2 GiB", put("workload", "message", "2GiB"), ["workload.message", "2GiB"]),
    ("two IP versions", put("endpoints", 1, "address", "10.0.0.2"), ["address", "version"]),
    ("same name twice", put("endpoints", 1, "name", "a"), ["name", "a"]),
    ("planes differ", put("endpoints", 1, "planes", [PLANE]), ["planes"]),
    ("MTU too small for the PMTU", put("endpoints", 0, "planes", 0,
                                       {"device": "fabric", "mtu": 1500}), ["mtu", "1500", "pmtu"]),
    ("multicast link address", put("endpoints", 0, "planes", 0,
                                   {"device": "fabric", "mac": "03:00:00:00:00:01"}), ["mac"]),
    ("no such device", device("eth9"), ["device", "eth9"]),
    ("no such PCI device", device("0000:fe:1f.7"), ["device", "0000:fe:1f.7"]),
    ("no such interface", device("net_af_packet0,iface=nosuch0"), ["device", "nosuch0", "ip link"]),
    ("interface left out", device("net_af_packet0"), ["device", "iface="]),
    ("socket path too long", device("net_memif0,socket-abstract=no,socket=/" + "x" * 120),
     ["device", "shorter"]),
    ("direct on one side", device("direct"), ["device", "direct"]),
    ("worker without lcore", many_lcores, ["4000"]),
    ("one endpoint alone", one_endpoint, ["oob"]),
    ("oob without use", put("oob", {"listen": "unix:/tmp/x"}), ["oob"]),
    ("oob both ways", put("oob", {"listen": "unix:/tmp/x", "connect": "unix:/tmp/x"}), ["listen"]),
    ("two ends of the run", put("workload", "seconds", 3), ["messages", "seconds"]),
    ("DSCP shared", put("protocol", {"dscp": {"control": 12}}), ["dscp"]),
    ("choice out of range", put("protocol", {"choices": {"udp_port": 0}}), ["udp_port", "0"]),
    ("fault on no plane", put("fabric", "faults", [{"kind": "loss", "rate": "1%", "plane": 7}]),
     ["faults[0].plane", "7"]),
    ("fault of no kind", put("fabric", "faults", [{"kind": "magic"}]), ["kind", "magic"]),
    ("structured EV over IPv4", lambda d: (put("ev", {"mode": "stev"})(d),
                                           put("endpoints", 0, "address", "10.0.0.1")(d),
                                           put("endpoints", 1, "address", "10.0.0.2")(d)),
     ["ev.mode", "stev"]),
    ("more EVs kept than there are", put("ev", {"min_active": 4000}), ["ev.min_active", "4000"]),
    ("probes without pause", put("ev", {"probe": 0}), ["ev.probe", "0"]),
    ("SRv6 without paths", put("ev", {"mode": "srv6"}), ["endpoints[0].planes[0].paths", "missing"]),
    ("one file for two captures",
     put("endpoints", 0, "planes", [{"device": "fabric", "capture": "/tmp/x"}] * 2),
     ["endpoints[0].planes[1].capture", "/tmp/x"]),
    ("tags differ", put("endpoints", 1, "planes", [PLANE, {"device": "fabric", "vlan": 7}]),
     ["endpoints[1].planes[1].vlan"]),
    ("queue pairs without end", device("net_af_packet0,iface=lo,qpairs=999999"), ["qpairs=999999", "16"]),
    ("memif argument unknown", device("net_memif0,rsise=10"), ["rsise=10", "rsize"]),
    ("memif buffers too small", device("net_memif0,bsize=100"), ["bsize=100"]),
    ("more memory than there is", put("memory", {"mib": 1 << 20}), ["memory.mib", "available"]),
    ("messages larger than memory", lambda d: d["workload"].update(message="1GiB", depth=4096, qps=4),
     ["workload", "message", "depth"], 3),
    ("EAL does not know", put("eal", ["--bogus"]), ["eal", "--bogus"]),
    ("lcore that is not there", put("lcores", "99"), ["lcores", "99"]),
    ("lcores that are none", put("lcores", "0-"), ["lcores", "0-"]),
    ("file that is not there", put("workload", "file", "/nonexistent/file"), ["/nonexistent/file"]),
]


def refused(path, words, arguments=(), code=2):
    done = run([MRC_DP, "run", "-c", path, *arguments])
    equal(done.code, code, f"exit code: {done.err}")
    lines = [line for line in done.err.split("\n") if line]
    equal(len(lines), 1, f"lines on stderr: {done.err}")
    equal(done.out, "", "stdout")
    for word in [path, *words]:
        true(word in lines[0], f"no '{word}' in: {lines[0]}")
    print(f"    {lines[0].replace(path, 'FILE')}")


def define(what, change, words, code=2):
    def check():
        with tempfile.TemporaryDirectory() as folder:
            document = change
            if callable(change):
                document = copy.deepcopy(GOOD)
                change(document)
            refused(write_json(folder, "wrong.json", document), words, code=code)
    check.__name__ = what.replace(" ", "_")
    case(check)


for row in WRONG:
    define(*row)


@case
def file_missing():
    refused("/nonexistent/mrc.json", [])


@case
def file_is_a_folder():
    with tempfile.TemporaryDirectory() as folder:
        refused(folder, [])


@case
def file_too_large():
    with tempfile.TemporaryDirectory() as folder:
        refused(write_json(folder, "big.json", '{"comment": "' + "x" * (2 << 20) + '"}'), [])


@case
def nested_too_deep():
    with tempfile.TemporaryDirectory() as folder:
        refused(write_json(folder, "deep.json", "[" * 1000 + "]" * 1000), [])


@case
def words_that_are_no_option():
    with tempfile.TemporaryDirectory() as folder:
        path = write_json(folder, "good.json", GOOD)
        for words, named in ((["forty"], "forty"), (["--forty"], "forty"), (["--second", "2"], "second"),
                             (["-l", "99"], "99"), (["-y"], "y")):
            refused(path, [named], words)


@case
def the_base_of_this_table_is_right():
    with tempfile.TemporaryDirectory() as folder:
        done = run([MRC_DP, "run", "-c", write_json(folder, "good.json", GOOD)])
        equal(done.code, 0, done.err[-2000:])


main()
