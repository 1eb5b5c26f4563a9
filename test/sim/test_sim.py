#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mrc-sim from outside: refusals, documentation, determinism, captures, faults.

usage: test_sim.py WHAT MRC_SIM [OTHER_MRC_SIM]
"""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

from wrong_scenarios import WRONG

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
WHAT, SIM = sys.argv[1], sys.argv[2]
OTHER = sys.argv[3] if len(sys.argv) > 3 else None
FOLDER = tempfile.TemporaryDirectory(prefix="mrc-sim-test-")
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)
        print("FAIL", text)


def scenario(content, name="s.json"):
    path = os.path.join(FOLDER.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return path


def run(content, *args, sim=SIM, limit=120):
    path = scenario(content)
    return subprocess.run([sim, *args, path], capture_output=True, text=True, timeout=limit,
                          check=False)


def result(content, *args, sim=SIM):
    out = os.path.join(FOLDER.name, "out.json")
    done = run(content, "--quiet", "--json", out, *args, sim=sim)
    if not os.path.exists(out):
        sys.exit(f"no result: exit {done.returncode}: {done.stderr}")
    with open(out, encoding="utf-8") as file:
        content = json.load(file)
    os.remove(out)
    return done.returncode, content


SMALL = {"fabric": {"planes": 2, "leaves": 2, "spines": 2, "hosts_per_leaf": 2},
         "ev": {"count": 16}, "load": {"bytes": "256KiB", "message": "64KiB", "depth": 4}}


def test_refusals():
    """Each names the file, the path, the value and a remedy, and ends with 2."""
    wrong = [
        ('{"fabric": {"planes": 17}}', ["fabric.planes", "17"]),
        ('{"fabric": {"plains": 2}}', ["fabric", "plains", "planes"]),
        ('{"fabric": {"rate": "fast"}}', ["fabric.rate", "fast", "400G"]),
        ('{"fabric": {"leaves": 2, "spines": 0}}', ["spines", "1 or more"]),
        ('{"fabric": {"overhead": 9999}}', ["fabric.overhead", "9999"]),
        ('{"host": {"pmtu": 1500}}', ["host.pmtu", "1500", "1024"]),
        ('{"ev": {"mode": "magic"}}', ["ev.mode", "magic"]),
        ('{"ev": {"count": 6}}', ["ev.count", "multiple"]),
        ('{"ev": {"mode": "srv6", "count": 8}}', ["ev.mode", "srv6"]),
        ('{"load": {"pattern": "list"}}', ["load.flows"]),
        ('{"load": {"pattern": "list", "flows": [[0, 0]]}}', ["load.flows[0]", "[start, source, destination, bytes]"]),
        ('{"load": {"mode": "steady"}}', ["load.duration"]),
        ('{"load": {"hosts": 99}}', ["load.hosts", "4"]),
        ('{"faults": [{"kind": "earthquake"}]}', ["faults[0].kind", "earthquake"]),
        ('{"faults": [{"kind": "loss", "plane": 4}]}', ["faults[0].plane", "0 .. 3"]),
        ('{"faults": [{"kind": "loss", "packets": "syn"}]}', ["faults[0].packets", "sack"]),
        ('{"faults": [{"kind": "loss", "rate": 2}]}', ["faults[0].rate", "2"]),
        ('{"faults": [{"kind": "flap"}]}', ["faults[0]", "down"]),
        ('{"choice": {"udp_prt": 1}}', ["choice", "udp_prt"]),
        ('{"transport": "rc", "load": {"mode": "steady", "duration": "1ms"}}', ["transport"]),
        ('{"seed": 1, "seed": 2}', ["seed"]),
        ('{"seed": ', ["s.json"]),
    ]
    for text, parts in wrong:
        done = run(text, "--check")
        check(done.returncode == 2, f"{text}: exit {done.returncode}")
        check(done.stderr.count("\n") == 1, f"{text}: not one line: {done.stderr}")
        for part in ["s.json"] + parts:
            check(part in done.stderr, f"{text}: \"{part}\" not in: {done.stderr}")
    for text, where in WRONG:
        done = run(text, "--check")
        check(done.returncode == 2, f"{text}: exit {done.returncode}: {done.stderr}")
        check(done.stderr.count("\n") == 1, f"{text}: not one line: {done.stderr}")
        check(re.search(r"s\.json(:\d+:\d+)?: " + re.escape(where), done.stderr),
              f"{text}: \"{where}\" not in: {done.stderr}")
    # What only building the engines tells is refused all the same, not reported as a failed run.
    done = run({"load": {"qps": 1024, "pattern": "all_to_all"}, "fabric": {"leaves": 4}})
    check(done.returncode == 2 and "load.qps: 1024" in done.stderr, done.stderr)
    done = run(dict(SMALL, expect=[{"value": "flows.nothing", "min": 1}]), "--quiet")
    check(done.returncode == 1 and "expect[0]: flows.nothing: the result has no such" in done.stderr,
          done.stderr)
    for args, part in ((["--seed", "x"], "--seed"), (["--scale", "0"], "--scale"),
                       (["--pcap-link", "plane"], "--pcap-link"), (["--set", "x"], "--set"),
                       (["--set", "load.bytes.x=1"], "--set load.bytes.x"),
                       (["--seed", "-5"], "--seed -5"), (["--seed", "18446744073709551616"], "--seed 184"),
                       (["--pcap-link", "plane=4294967296"], "--pcap-link"), (["--pcap-link", "plane=7"], "plane 7"),
                       (["--pcap-link", "spine=0,host=0"], "no link"),
                       (["--pcap-link", "plane=0" + ",plane=0" * 20], "--pcap-link"),
                       (["--set", 'load={"bytes": 1, "bytes": 2}'], "load"),
                       (["--pcap", "/nowhere/x"], "/nowhere/x")):
        done = run(SMALL, *args)
        check(done.returncode == 2 and part in done.stderr, f"{args}: {done.stderr}")
    done = subprocess.run([SIM, "/nowhere.json"], capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "/nowhere.json" in done.stderr, done.stderr)


def test_lost_output():
    """What cannot be written is no success, whatever it is."""
    path = scenario(SMALL)
    for args in ([], ["--json", "-"], ["--json", "/dev/full"], ["--pcap", "/dev/full"],
                 ["--trace", "/dev/full"], ["--quiet", "--trace", "/dev/full"], ["--help"], ["--version"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([SIM, *args, path], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        check(done.returncode == 2, f"{args}: exit {done.returncode}")
        check("cannot be written" in done.stderr, f"{args}: {done.stderr}")
    limited = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", SIM, "--quiet", "--pcap",
                              os.path.join(FOLDER.name, "limited.pcap"), path], stderr=subprocess.PIPE, text=True,
                             check=False)
    check(limited.returncode == 2 and "limited.pcap: cannot be written" in limited.stderr, limited.stderr)
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", SIM, path], stderr=subprocess.PIPE, text=True,
                            check=False)
    check(closed.returncode == 2 and "standard output" in closed.stderr, closed.stderr)


def leaves(node, path, fault):
    """(path, schema) of every key; 0 in a path stands for an element."""
    node = fault if "$ref" in node else node
    item = node.get("items", {})
    if "properties" in node:
        for key, value in node["properties"].items():
            yield from leaves(value, path + [key], fault)
    elif "properties" in item or "$ref" in item:
        yield path, node
        yield from leaves(item, path + [0], fault)
    else:
        yield path, node


# What an element or object needs besides the key that is tried.
NEEDS = {"faults": {"kind": "loss"}, "pauses": {"host": 0, "for": 1}, "handovers": {"delay": 1},
         "churn": {"every": "1ms"}, "expect": {"value": "x", "min": 1}}


def document_with(path, value):
    root = {"host": {"workers": 2}} if path[0] == "handovers" else {}
    at = root
    for i, key in enumerate(path):
        below = path[i + 1:i + 2]
        if key == 0:
            continue
        if not below:
            at[key] = value
        elif below == [0]:
            at[key] = [dict(NEEDS.get(key, {}))]
            at = at[key][0]
        else:
            at = at.setdefault(key, dict(NEEDS.get(key, {})))
    return root


def test_agreement():
    """Program and schema refuse the same values of every key.

    Only where keys, or keys and files, contradict each other may the program know better.
    """
    try:
        import jsonschema
    except ImportError:
        sys.exit(77)
    with open(os.path.join(ROOT, "config", "scenario.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.Draft7Validator(schema)
    plain = re.compile(r"out of range; must be|: must be (?!the |\d)|too short|unknown key|negative;"
                       r"|is missing|elements;")
    tried = 0
    for path, node in leaves(schema, [], schema["definitions"]["fault"]):
        values = [None, "zz", "", -1, 1.5, [], {}, True, 2**62, "1 parsec", "-1", 0, 1]
        for part in [node] + node.get("anyOf", []):
            values += [part["maximum"] + 1, part["maximum"]] if "maximum" in part else []
            values += [part["minimum"] - 1, part["minimum"]] if "minimum" in part else []
        for value in values:
            content = document_with(path, value)
            done = run(content, "--check")
            allowed = not list(validator.iter_errors(content))
            tried += 1
            check(done.returncode in (0, 2), f"{content}: exit {done.returncode}")
            check(allowed or done.returncode == 2, f"only the schema refuses {content}")
            check(not allowed or not plain.search(done.stderr),
                  f"only the program refuses {content}: {done.stderr}")
    check(tried > 2000, f"only {tried} values tried")


def schema_keys(node):
    for key, value in node.get("properties", {}).items():
        yield key
        yield from schema_keys(value)
        yield from schema_keys(value.get("items", {}) if isinstance(value, dict) else {})


def test_documents():
    """Decoder, schema and manual page name the same keys; every scenario fits the schema."""
    code = ""
    shared = glob.glob(os.path.join(ROOT, "ctl", "ctl_fault.[ch]"))
    for path in glob.glob(os.path.join(HERE, "scenario*.c")) + shared:
        with open(path, encoding="utf-8") as file:
            code += file.read()
    # Rows of tables, by whatever name a file gives them.
    rows = r'^\s*[A-Z_]+\(\s*(?:MRC_CTL_TYPE_[A-Z]+,\s*)?"(\w+)"'
    in_code = set(re.findall(rows, code, re.M)) | set(re.findall(r'\.key = "(\w+)"', code))
    with open(os.path.join(ROOT, "config", "scenario.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    fault = schema["definitions"]["fault"]
    in_schema = set(schema_keys(schema)) | set(schema_keys(fault))
    for other in ("mrc-dp", "mrc-fabric"):
        with open(os.path.join(ROOT, "config", f"{other}.schema.json"), encoding="utf-8") as file:
            check(json.load(file)["definitions"]["fault"] == fault, f"{other}: faults differ")
    with open(os.path.join(ROOT, "doc", "man", "mrc-sim.1.scd"), encoding="utf-8") as file:
        manual = file.read().replace("\\_", "_")
    # What stands behind is of results.
    manual = manual[:re.search(r"^# RESULT", manual, re.M).start()]
    in_manual = set(re.findall(r"^\*(\w+)\* \(", manual, re.M))
    # Objects are sections of the manual page.
    sections = set(re.findall(r"^## (\w+)", manual, re.M)) | {"links", "sizes"}
    check(len(in_code) > 100, f"only {len(in_code)} keys found in the decoder")
    check(in_code == in_schema, f"decoder and schema differ: {sorted(in_code ^ in_schema)}")
    check(in_schema <= in_manual | sections,
          f"not in the manual page: {sorted(in_schema - in_manual - sections)}")
    check(in_manual <= in_schema, f"only in the manual page: {sorted(in_manual - in_schema)}")
    try:
        import jsonschema
    except ImportError:
        return
    for path in glob.glob(os.path.join(ROOT, "test", "scenarios", "*.json")):
        with open(path, encoding="utf-8") as file:
            errors = list(jsonschema.Draft7Validator(schema).iter_errors(json.load(file)))
        check(not errors, f"{path}: {errors[:1]}")
        done = subprocess.run([SIM, "--check", path], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{path}: {done.stderr}")


def keys_of(document, free=()):
    """Names of all objects' keys but those of objects that count by name."""
    if isinstance(document, list):
        return set().union(*(keys_of(item, free) for item in document))
    if not isinstance(document, dict):
        return set()
    return set(document).union(*(keys_of(v, free) for k, v in document.items() if k not in free))


def stated_defaults(manual):
    """Section, path and value of each."""
    section = key = ""
    for line in manual.splitlines():
        section = line[3:] if line.startswith("## ") else section
        found = re.match(r"\*(\w+)\* \(", line)
        key = found.group(1) if found else key
        found = re.search(r"Default: _(\w+)_\.", line)
        if found:
            yield section, key if section == "top level" else f"{section}.{key}", found.group(1)


def test_manual():
    """A default that the manual page states changes nothing; each key of a result stands there."""
    with open(os.path.join(ROOT, "doc", "man", "mrc-sim.1.scd"), encoding="utf-8") as file:
        manual = file.read().replace("\\_", "_")
    bases = {"": {}, "rc": {"transport": "rc"}, "churn": {"churn": {"every": "1s"}}}
    plain = {name: result(base)[1]["hash"] for name, base in bases.items()}
    nb = 0
    for section, path, value in stated_defaults(manual):
        section = section if section in bases else ""
        code, out = result(bases[section], "--set", f"{path}={value}")
        check(code == 0 and out["hash"] == plain[section], f"{path}: {value} is not the default")
        nb += 1
    check(nb > 60, f"only {nb} defaults found")
    words = set(re.findall(r"\w+", manual))
    storm = {"every": "5us", "length": "10us", "at": 0, "for": "50us"}
    for more in ({"run": {"sample": "5us", "repair": True, "waits": True}, "storm": storm},
                 {"transport": "rc"}, {"churn": {"every": "20us", "for": "60us"}},
                 {"load": {"barrier": True, "rounds": 2}},
                 {"load": {"mode": "steady", "duration": "50us", "message": "16KiB"}}):
        load = dict(SMALL["load"], **more.get("load", {}))
        if load.get("mode") == "steady":
            del load["bytes"]
        _, out = result(dict(SMALL, **dict(more, load=load)))
        check(out["begun"], f"{more}: {out['failure']}")
        new = {re.sub("^plane\\d", "planeN", key) for key in keys_of(out, ("drops", "kinds"))} - words
        check(not new, f"not in the manual page: {sorted(new)}")
    done = run(dict(SMALL, expect=[{"value": "flows.nonsense", "max": 5}]))
    check(done.returncode == 1 and "flows.nonsense: the result has no such value" in done.stdout, done.stdout)


CHAOS = dict(SMALL, host={"workers": 2}, faults=[
    {"kind": "loss", "rate": "1%"}, {"kind": "duplicate", "rate": "1%"},
    {"kind": "reorder", "rate": "5%", "delay": "3us"}, {"kind": "corrupt", "rate": "0.5%"},
    {"kind": "flap", "plane": 1, "leaf": 0, "at": "20us", "for": "200us", "down": "15us",
     "up": "30us", "direction": "uplink"},
    {"kind": "trim", "rate": "1%"}, {"kind": "ecn_alternate", "plane": 0}])
CHAOS["load"] = dict(SMALL["load"], imm_percent=20, qps=2, pattern="all_to_all", depth=2)


def test_determinism():
    """One seed gives one run, another seed another, whatever the optimisation."""
    hashes = set()
    for seed in range(1, 6):
        code, one = result(CHAOS, "--twice", "--seed", str(seed))
        check(code == 0, f"seed {seed}: {one['failure']}")
        hashes.add(one["hash"])
        if OTHER:
            _, two = result(CHAOS, "--seed", str(seed), sim=OTHER)
            check(one["hash"] == two["hash"], f"seed {seed}: builds differ")
    check(len(hashes) == 5, "seeds give the same run")
    # Tracing and sampling may not change a run; verifying may not either.
    _, plain = result(CHAOS)
    trace = os.path.join(FOLDER.name, "trace.csv")
    _, traced = result(CHAOS, "--trace", trace, "--set", "run.check_every=7")
    check(plain["hash"] == traced["hash"], "tracing changes the run")
    with open(trace, encoding="utf-8") as file:
        rows = file.read().splitlines()
    check(rows[0] == "time_ns,host,what,a,b,c" and len(rows) > 100, "no trace")
    # Without faults hosts are run apart; windows may end anywhere, even where packets of many
    # hosts come to a leaf in the same nanosecond.
    crowd = dict(SMALL, fabric=dict(SMALL["fabric"], hosts_per_leaf=8),
                 load={"pattern": "incast", "fan_in": 15, "bytes": "64KiB", "depth": 4})
    apart = dict(SMALL, load=dict(SMALL["load"], pattern="all_to_all", qps=2))
    for content in (crowd, apart):
        _, plain = result(content)
        for sample in ("3us", "170ns", "1ns"):
            _, sampled = result(content, "--set", f"run.sample={sample}")
            check(plain["hash"] == sampled["hash"], f"sampling every {sample} changes the run")
            check(plain["flows"]["fct_us"] == sampled["flows"]["fct_us"], "and completion times")
    # A steady load begins at once, not when something else first happens.
    steady = dict(SMALL, load={"mode": "steady", "pattern": "ring", "duration": "100us",
                               "warmup": "20us"})
    _, plain_steady = result(steady)
    for sample in ("3us", "70ns"):
        _, sampled = result(steady, "--set", f"run.sample={sample}")
        check(plain_steady["hash"] == sampled["hash"], f"sampling every {sample} changes the load")
    _, traced = result(apart, "--trace", trace)
    check(plain["hash"] == traced["hash"], "tracing changes the run")
    with open(trace, encoding="utf-8") as file:
        times = [int(row.split(",")[0]) for row in file.read().splitlines()[1:]]
    check(len(times) > 100 and times == sorted(times), "the trace is not in order of time")


def test_queue_pairs():
    """Flows of a connection overtake each other on its queue pairs; each arrives when it is whole."""
    for workers in (1, 3, 4):
        for seed in range(1, 11):
            code, r = result(dict(
                SMALL, host={"workers": workers},
                load={"pattern": "all_reduce", "bytes": "20KB", "qps": 3},
                faults=[{"kind": "loss", "at": 0, "for": "40us", "rate": 0.2}]),
                "--seed", str(seed))
            check(code == 0, f"{workers} workers, seed {seed}: {r['failure']}")
            steps = {}
            for src, _, start, *_ in r["flows"]["list"]:
                steps.setdefault(src, []).append(start)
            # A step begins when the one before has come from the left, over two links of 1 us.
            check(len(steps) == 4 and all(
                begun - before >= 2 for host in steps
                for begun, before in zip(steps[host][1:], steps[(host - 1) % 4])),
                  f"{workers} workers, seed {seed}: a step begins too early: {steps}")


def test_capture():
    """A pcap file holds every frame that left its host, with right lengths and times."""
    path = os.path.join(FOLDER.name, "x.pcap")
    code, r = result(SMALL, "--pcap", path)
    check(code == 0, r["failure"])
    with open(path, "rb") as file:
        data = file.read()
    check(struct.unpack("=IHHiIII", data[:24])[0] == 0xA1B23C4D, "magic")
    at, frames, last = 24, 0, 0
    while at < len(data):
        sec, nsec, kept, length = struct.unpack("=IIII", data[at:at + 16])
        check(kept == length, "frame cut")
        check(sec * 10**9 + nsec >= last, "time runs backwards")
        last = sec * 10**9 + nsec
        frame = data[at + 16:at + 16 + kept]
        check(frame[12:14] == b"\x86\xdd", "not IPv6")
        check(int.from_bytes(frame[18:20], "big") == kept - 54, "IPv6 length")
        check(int.from_bytes(frame[56:58], "big") == 4791, "UDP port")
        at += 16 + kept
        frames += 1
    check(frames == r["fabric"]["sent"], f"{frames} frames of {r['fabric']['sent']}")
    code, one = result(SMALL, "--pcap", path, "--pcap-link", "plane=1,host=0,class=host_down")
    with open(path, "rb") as file:
        check(24 < len(file.read()) < len(data), "selector takes everything or nothing")


def test_repair():
    """Each lost packet is missing once, for longer than it takes to learn of it."""
    for v4 in (False, True):
        content = dict(SMALL, host={"ipv4": v4}, run={"repair": True}, faults=[
            {"kind": "loss", "packets": "data", "direction": "host_up", "nth": 20, "count": 1,
             "period": 50, "max_hits": 7}])
        content["ev"] = {"mode": "udp", "count": 16}
        content["load"] = dict(SMALL["load"], bytes="4MiB")
        code, r = result(content, "--twice")
        check(code == 0, r["failure"])
        times = [1e-3 * t / r["rtt_us"] for t, _, _ in r["repair"]["list_ns"]]
        check(len(times) == 7 == r["fabric"]["dropped"] and r["repair"]["forgotten"] == 0,
              f"{r['fabric']['dropped']} lost, {r['repair']}")
        check(all(1 < t < 10 for t in times), f"{times}")
    # A damaged address names no host: the last bytes of the source, of IPv6 and of IPv4.
    content["faults"][0]["max_hits"] = 1000
    for v4, places in ((False, (36, 37)), (True, (27, 28, 29))):
        content["host"] = {"ipv4": v4, "exponential_retries": 25, "timeout": 5}
        content["faults"][1:] = [{"kind": "corrupt", "direction": "host_up", "rate": 0.2,
                                  "bytes": 1, "offset": at} for at in places]
        code, r = result(content, "--twice")
        check(code == 0 and len(r["repair"]["list_ns"]) > 7, f"{r['failure']} {r['repair']}")


def test_starts():
    """A steady load begins when the list says; the other one has its ports alone until then."""
    content = dict(SMALL, fabric={"planes": 1, "leaves": 1, "spines": 0, "hosts_per_leaf": 3,
                                  "rate": "100G"},
                   load={"mode": "steady", "pattern": "list", "duration": "1ms", "warmup": "100us",
                         "message": "64KiB", "depth": 8, "verify": "none",
                         "flows": [[0, 0, 2, 1], ["600us", 1, 2, 1]]}, run={"sample": "20us"})
    content["ev"] = {"mode": "udp", "count": 1}
    code, r = result(content, "--twice")
    check(code == 0, r["failure"])
    first, second = r["goodput"]["steady_per_conn"]
    total = max(r["series"]["goodput_gbps"])
    # 500 of 900 us alone, then half each; the other one the remaining 400 us at half the rate.
    check(0.72 < first / total < 0.84 and 0.16 < second / total < 0.24,
          f"{first} and {second} of {total}")
    check(first + second < 1.01 * total, f"{first} and {second} of {total}")
    del content["load"]["flows"][0]
    code, r = result(content, "--twice")
    began = next(t for t, v in zip(r["series"]["t_us"], r["series"]["goodput_gbps"]) if v > 0)
    check(code == 0 and 600 < began <= 620, f"{r['failure']}: first bytes at {began} us")
    # Scaled down, the run would be over before.
    done = run(content, "--quiet", "--scale", "0.5")
    check(done.returncode == 2 and "after the end" in done.stderr,
          f"exit {done.returncode}: {done.stderr}")


def test_waits():
    """What queue pairs wait for fits what was done to them, and takes nothing from the run."""
    def waits(**more):
        content = dict(SMALL, fabric={"planes": 2, "leaves": 2, "spines": 2, "hosts_per_leaf": 2,
                                      "rate": "100G", "forward": "srv6"},
                       ev={"mode": "srv6", "count": 4},
                       load={"pattern": "pair", "second": 2, "bytes": "4MiB", "message": "1MiB",
                             "depth": 4}, run={"sample": "1us", "waits": True})
        for key, value in more.items():
            content[key] = {**content.get(key, {}), **value} if isinstance(value, dict) else value
        code, r = result(content, "--twice")
        check(code == 0, r["failure"])
        w = r.pop("waits")
        content["run"]["waits"] = False
        check(result(content)[1]["hash"] == r["hash"], "counting changes the run")
        samples, qps = w.pop("samples"), w.pop("qps")
        check(qps == 1 and abs(sum(w.values()) - samples) < 1e-6, f"{w}, {samples} samples")
        return w

    clean = waits()
    check(clean["timer"] == clean["paths"] == clean["idle"] == 0 < clean["answer"], f"{clean}")
    narrow = waits(host={"mpr": 1}, fabric={"delay": "10us"}, cc={"on": False})
    check(max(narrow, key=narrow.get) == "window", f"{narrow}")
    slow = waits(cc={"max_cwnd": "64KiB"})
    check(max(slow, key=slow.get) == "congestion", f"{slow}")
    # The last packets and all copies are lost for so long.
    silent = waits(faults=[{"kind": "silent_discard", "at": "30us", "for": "2ms"}],
                   load={"bytes": "1MiB"})
    check(silent["timer"] > 1000, f"{silent}")
    # No port for 300 us.
    cut = waits(faults=[{"kind": "carrier", "at": "60us", "for": "300us", "host": 0}])
    check(290 < cut["paths"] < 400, f"{cut}")


def test_lists():
    """Flows and sizes come from files beside the scenario."""
    def put(name, text):
        with open(os.path.join(FOLDER.name, name), "w", encoding="utf-8") as file:
            file.write(text)

    put("flows.txt", "# start source destination bytes\n0 0 2 64KiB\n\n10us, 1, 3, 4097\n"
                     "1ms 3 0 1MiB background # on one path\n")
    load = {"pattern": "list", "flows_file": "flows.txt"}
    code, r = result(dict(SMALL, load=load))
    check(code == 0, r["failure"])
    check([f[:3] + f[4:] for f in r["flows"]["list"]] ==
          [[0, 2, 0.0, 65536, 0], [1, 3, 10.0, 4097, 0], [3, 0, 1000.0, 1048576, 2]],
          f"{r['flows']['list']}")
    put("sizes.txt", "1KiB 0.5\n1KiB 0.5\n64KiB 0.9\n1MiB 1\n")
    load = {"pattern": "random", "rounds": 200, "round_gap": "20us", "sizes_file": "sizes.txt"}
    code, r = result(dict(SMALL, load=load))
    sizes = sorted(f[4] for f in r["flows"]["list"])
    check(code == 0 and len(sizes) == 800, f"{r['failure']} {len(sizes)}")
    check(sizes[380] == 1024 < sizes[440] and sizes[680] < 65536 < sizes[760] and
          sizes[-1] <= 1 << 20, f"{sizes[::40]}")
    # Poisson arrivals of such sizes come at the rate asked for.
    load = dict(load, arrival="poisson", rate_bps=50e9)
    load.pop("round_gap")
    code, r = result(dict(SMALL, load=load))
    span = max(f[2] for f in r["flows"]["list"]) / 1e6
    offered = sum(f[4] for f in r["flows"]["list"]) * 8 / span
    check(code == 0 and 35e9 < offered < 65e9, f"{offered:.3g} bit/s offered")
    for text, parts in (("0 0 2\n", ["flows.txt:1: 3 fields"]), ("# none\n", ["is empty"]),
                        ("0 0 2 5\n# x\n0 1 9 5\n", ["load.flows[1]", "9", "flows.txt:3"]),
                        ("0 0 2 5\n0 one 3 5\n", ["load.flows[1]", "one", "flows.txt:2"]),
                        ("x" * 300, ["flows.txt:1"])):
        put("flows.txt", text)
        done = run(dict(SMALL, load={"pattern": "list", "flows_file": "flows.txt"}), "--check")
        check(done.returncode == 2, f"{text}: accepted")
        for part in parts:
            check(part in done.stderr, f"{text}: \"{part}\" not in {done.stderr}")
    # Bytes that are no text must not vanish with what stands behind them.
    for data, part in ((b"0 0 2 5\n0 \xff 1 3 5\n", "flows.txt:2: holds a byte that is no UTF-8"),
                       (b"0 0 2 5\0 hidden\n", "flows.txt:1: holds a NUL"), (b"\0\n", "flows.txt:1: holds a NUL"),
                       (b"x" * 255 + b"\n", "flows.txt:1: more than"), (None, "Is a directory")):
        path = os.path.join(FOLDER.name, "flows.txt")
        os.remove(path)
        if data is None:
            os.mkdir(path)
        else:
            with open(path, "wb") as file:
                file.write(data)
        done = run(dict(SMALL, load={"pattern": "list", "flows_file": "flows.txt"}), "--check")
        check(done.returncode == 2 and part in done.stderr, f"{data}: {done.stderr}")
    done = run(dict(SMALL, load={"pattern": "list", "flows_file": "x" * 400}), "--check")
    check(done.returncode == 2 and "load.flows_file" in done.stderr and done.stderr.count("\n") == 1, done.stderr)


CHURN = {"fabric": {"planes": 2, "delay": "50us", "trim": False, "ecn": False, "drop_at": "64MiB"},
         "host": {"mpr": 64, "timeout": 12}, "ev": {"count": 16}, "cc": {"on": False},
         "load": {"pattern": "pair", "second": 2, "bytes": "64MiB", "depth": 8, "imm_percent": 20},
         "churn": {"every": "700us"}}


def test_churn():
    """QPs end with a thousand packets under way; their successors take none of them."""
    for seed in range(1, 4):
        code, r = result(CHURN, "--seed", str(seed), "--twice")
        check(code == 0, f"seed {seed}: {r['failure']}")
        if code != 0:
            return
        churn, drops = r["churn"], r["engine"]["drops"]
        check(churn["renewals"] >= 5 and churn["late_most"] >= 1000, f"too little: {churn}")
        check(churn["accepted"] == 0 and churn["late"] == churn["refused"], f"{churn}")
        check(drops.get("QPN_GENERATION", 0) + drops.get("QPN_UNKNOWN", 0) == churn["late"],
              f"{churn['late']} injected, counted {drops}")
        check(r["verify"]["bytes_verified"] == 64 << 20, f"{r['verify']}")
    # The same number again: addresses and PSNs tell the lives apart.
    code, r = result(CHURN, "--set", "churn.lives=255")
    check(code == 0 and r["churn"]["accepted"] == 0 and r["churn"]["late"] > 5000,
          f"same number: {r['failure']} {r['churn']}")
    check("QPN_GENERATION" not in r["engine"]["drops"], f"other numbers: {r['engine']['drops']}")
    # Many connections, several workers, faults of every sort, virtual payload.
    hard = json.loads(json.dumps(CHAOS))
    hard["churn"] = {"every": "40us"}
    hard["load"]["bytes"] = "1MiB"
    for more in ([], ["--set", "load.verify=none"], ["--set", "churn.lives=3"]):
        code, r = result(hard, "--twice", *more)
        check(code == 0, f"{more}: {r['failure']}")
        check(r["churn"]["renewals"] >= 8 and r["churn"]["accepted"] == 0, f"{r['churn']}")
    # With a beginning and an end.
    code, r = result(CHURN, "--set", "churn.at=1ms", "--set", "churn.for=1500us")
    check(code == 0 and r["churn"]["renewals"] == 2, f"{r['churn']}")


def test_handover():
    """Packets of another worker wait, or find its ring full: late or lost, never wrong."""
    content = dict(SMALL, host={"workers": 4, "exponential_retries": 25, "timeout": 5})
    content["load"] = dict(SMALL["load"], pattern="all_to_all", qps=2, imm_percent=25)
    code, plain = result(content)
    check(code == 0 and plain["handover"]["packets"] > 500, f"{plain['handover']}")
    check(plain["handover"]["waited"] == 0 == plain["handover"]["dropped"], "it waits by itself")
    content["handovers"] = [{"delay": "20us"}]
    code, slow = result(content, "--twice")
    check(code == 0, slow["failure"])
    check(slow["handover"]["waited"] == slow["handover"]["packets"] and
          slow["handover"]["waiting_most"] > 3, f"{slow['handover']}")
    check(slow["flows"]["fct_us"]["min"] > plain["flows"]["fct_us"]["min"] + 10, "no delay")
    # Full for a while, on one host; everything arrives afterwards.
    content["handovers"] = [{"host": 2, "at": "20us", "for": "100us", "depth": 0}]
    code, full = result(content, "--twice")
    check(code == 0, full["failure"])
    check(full["handover"]["dropped"] > 10, f"{full['handover']}")
    check(full["engine"]["retransmits"] > 0, "nothing was lost")
    # A short ring with slow consumers, and the end of it.
    content["handovers"] = [{"delay": "5us", "depth": 4, "for": "300us"}]
    for seed in range(1, 21):
        code, r = result(content, "--seed", str(seed))
        check(code == 0, f"seed {seed}: {r['failure']}")
        # What comes after the end waits behind what is there, however much that is.
        check(4 <= r["handover"]["waiting_most"] <= 8 and r["handover"]["dropped"] > 0,
              f"seed {seed}: {r['handover']}")


def test_soak():
    """Rounds wait for each other, a storm passes over them, a dead host takes only its own flows."""
    load = {"pattern": "alternate", "barrier": True, "rounds": 6, "bytes": "64KiB", "depth": 4,
            "message": "32KiB", "imm_percent": 10}
    content = dict(SMALL, load=load, ev={"count": 16, "probe": "100us", "probe_max": "100us"},
                   host={"timeout": 5, "exponential_retries": 3})
    code, r = result(content)
    check(code == 0 and r["flows"]["done"] == 3 * 16 == r["flows"]["count"], f"{r['failure']}")
    rounds = r["rounds"]["list"]
    check(len(rounds) == 6 and all(a[1] == b[0] for a, b in zip(rounds, rounds[1:])), f"{rounds}")
    for src, dst, start, end, size, _ in r["flows"]["list"]:
        check(any(start == a and end >= a for a, b in rounds), f"flow begins at {start}")
        check(size == (64 << 10) or (size == 3 * (64 << 10) and dst == (src + 1) % 4), f"{size}")
    check(r["verify"]["bytes_verified"] == 6 * 12 * (64 << 10), f"{r['verify']}")
    storm = dict(content, storm={"every": "10us", "length": "20us"})
    storm["host"] = {"timeout": 5, "exponential_retries": 25}
    seen = set()
    for seed in range(1, 6):
        code, r = result(storm, "--seed", str(seed), "--twice", "--scale", "2")
        check(code == 0 and r["rounds"]["us"]["count"] == 12, f"seed {seed}: {r['failure']}")
        check(r["storm"]["faults"] > 20, f"{r['storm']}")
        seen |= set(r["storm"]["kinds"])
    check(len(seen) == 8, f"only {seen}")
    code, r = result(dict(storm, storm=dict(storm["storm"], kinds=["grey"])))
    check(list(r["storm"]["kinds"]) == ["grey"], f"{r['storm']['kinds']}")
    content["faults"] = [{"kind": "carrier", "host": 2, "at": "30us"}]
    code, r = result(content, "--twice")
    check(code == 0, r["failure"])
    check(r["engine"]["qp_errors"] == 6, f"{r['engine']['qp_errors']} QPs in error")
    check(r["flows"]["done"] == 48 and r["rounds"]["us"]["count"] == 6, "not to the end")
    others = [f for f in r["flows"]["list"] if 2 not in f[:2]]
    check(len(others) == 3 * (6 + 2), f"{len(others)} flows of the others")
    # Goodput in windows of 10 and 200 ms of a load that runs that long.
    steady = dict(SMALL, load={"mode": "steady", "pattern": "pair", "second": 2, "depth": 4,
                               "duration": "405ms", "message": "64KiB", "verify": "none"},
                  fabric=dict(SMALL["fabric"], rate="1G"), cc={"on": False})
    code, r = result(steady)
    bins = r["goodput"]["bins_10ms_gbps"]
    check(code == 0 and len(bins) == 40 and len(r["goodput"]["bins_200ms_gbps"]) == 2,
          f"{r['failure']} {len(bins)}")
    check(abs(sum(bins) / 40 - r["goodput"]["total_gbps"]) < 0.05, f"{bins}")
    for i, long in enumerate(r["goodput"]["bins_200ms_gbps"]):
        check(abs(sum(bins[20 * i:20 * i + 20]) / 20 - long) < 1e-6, f"{long} of {bins}")


FAULTS = {
    "uniform loss 1 %": {"kind": "loss", "rate": 0.01},
    "uniform loss 10 %": {"kind": "loss", "rate": 0.1},
    "bursts": {"kind": "loss", "rate": 0.002, "burst": 20},
    "n-th packet": {"kind": "loss", "nth": 37},
    "last packets of messages": {"kind": "loss", "packets": "last", "rate": 0.5,
                                 "direction": "host_up"},
    "retransmissions too": {"kind": "loss", "rate": 0.05, "burst": 3, "direction": "host_up"},
    "all answers one way": {"kind": "loss", "packets": ["sack", "nack", "ack"], "dst": 0,
                            "for": "300us"},
    "only SACKs": {"kind": "loss", "packets": "sack", "for": "300us"},
    "only transport ACKs": {"kind": "loss", "packets": "ack", "for": "300us"},
    "duplicates": {"kind": "duplicate", "rate": 0.2, "copies": 2, "gap": "5us"},
    "duplicated answers": {"kind": "duplicate", "packets": ["sack", "ack"], "gap": "2us"},
    "small reordering": {"kind": "reorder", "rate": 0.2, "delay": "1us"},
    "reordering past the window": {"kind": "reorder", "rate": 0.02, "delay": "300us"},
    "bit flip in the payload": {"kind": "corrupt", "rate": 0.02, "offset": 100},
    "bit flip in the headers": {"kind": "corrupt", "rate": 0.02, "offset": 14, "bytes": 80},
    "truncated frames": {"kind": "truncate", "rate": 0.02, "bytes": 300},
    "padded frames": {"kind": "pad", "rate": 0.05, "bytes": 6},
    "trimmed packets": {"kind": "trim", "rate": 0.1},
    "black hole of EVs": {"kind": "silent_discard", "ev": ["0x1", "0x3"]},
    "plane flaps": {"kind": "flap", "plane": 1, "direction": "host", "down": "40us",
                    "up": "60us", "for": "600us"},
    "one way dies": {"kind": "silent_discard", "plane": 0, "host": 2, "direction": "host_down",
                     "for": "500us"},
    "big packets die on a plane": {"kind": "mtu", "plane": 1, "bytes": 1500},
    "delay step": {"kind": "delay", "delay": "100us", "at": "20us", "for": "200us"},
    "jitter": {"kind": "jitter", "delay": "20us"},
    "ECN on everything": {"kind": "ecn_all"},
    "ECN on nothing": {"kind": "ecn_none"},
    "ECN alternating": {"kind": "ecn_alternate"},
    "slow link": {"kind": "rate", "bits": "5G", "plane": 0, "leaf": 0, "spine": 0},
    "spine restarts": {"kind": "restart", "spine": 1, "at": "10us", "for": "300us"},
    "spine discards": {"kind": "silent_discard", "spine": 1, "at": "10us", "for": "500us"},
    "host pauses": None,
}


def test_faults():
    """Thirty kinds of faults, twenty seeds each: everything arrives right and in the end."""
    for name, fault in FAULTS.items():
        content = dict(SMALL, faults=[fault] if fault else [])
        content["load"] = dict(SMALL["load"], imm_percent=25, qps=2)
        content["ev"] = {"count": 16, "probe": "100us", "probe_max": "100us"}
        content["host"] = {"exponential_retries": 25, "timeout": 5}
        content["run"] = {"limit": "2s"}
        if fault is None:
            content["pauses"] = [{"host": 2, "at": "15us", "for": "400us"}]
        path = scenario(content)
        for seed in range(1, 21):
            done = subprocess.run([SIM, "--quiet", "--seed", str(seed), path],
                                  capture_output=True, text=True, timeout=120, check=False)
            check(done.returncode == 0,
                  f"{name}, seed {seed}: {done.stderr.strip()[-300:]}")
            if done.returncode != 0:
                print(f"  repeat: mrc-sim --seed {seed} FILE, with FILE: {json.dumps(content)}")
                break


def test_watching():
    """The trace in both forms says the same; progress; every lost packet is some queue pair's."""
    table = os.path.join(FOLDER.name, "trace.csv")
    objects = os.path.join(FOLDER.name, "trace.json")
    _, r = result(CHAOS, "--trace", table)
    _, again = result(CHAOS, "--trace", objects)
    check(r["hash"] == again["hash"], "the form of the trace changes the run")
    with open(table, encoding="utf-8") as file:
        rows = [line.split(",") for line in file.read().splitlines()[1:]]
    with open(objects, encoding="utf-8") as file:
        items = [list(item.items()) for item in json.load(file)]
    check([[str(v) for _, v in item] for item in items] == rows and len(rows) > 100,
          "JSON and CSV differ")
    names = {item[2][1]: [k for k, _ in item] for item in items}
    check(names["ev_state"] == ["time_ns", "host", "what", "ev", "old", "new"], str(names))
    check(names["loss"][3:] == ["qp", "psn", "cause"], str(names))
    check({"window", "rtt", "retransmit"} <= set(names), str(names))
    result({**SMALL, "run": {"limit": "1us"}}, "--trace", objects)
    with open(objects, encoding="utf-8") as file:
        check(isinstance(json.load(file), list), "a short trace is no JSON")

    for faults in (CHAOS, {**CHAOS, "churn": {"every": "30us"}}):
        _, r = result(faults)
        lost = r["lost_per_qp"]
        total = sum(p["lost_packets"] for p in r["engine"]["planes"])
        qps = CHAOS["load"]["qps"] * 4 * 3
        check(lost["count"] == qps, f"{lost['count']} queue pairs of {qps}")
        check(round(lost["mean"] * qps) == total > 0, f"{lost['mean'] * qps} lost of {total}")
        check(sum(x[3] for x in lost["list"]) == total, "the list does not hold all")
        check(max(x[3] for x in lost["list"]) == lost["max"] > lost["min"], "the worst")
        check(all(0 <= q < CHAOS["load"]["qps"] and s != d for s, d, q, _ in lost["list"]),
              "places")
        check("churn" not in faults or r["churn"]["renewals"] > 3, "no churn")

    done = run(CHAOS, "--quiet", "--progress=0.0001", "--set", "load.bytes=4MiB")
    lines = done.stderr.splitlines()
    form = re.compile(r".*: [0-9.]+ ms simulated, [0-9.]+ M packet-hops/s, \d+ of \d+ flows, "
                      r"\d+ %(, \d+ s left)?$")
    check(len(lines) > 3 and all(form.match(line) for line in lines), str(lines[:3]))
    times = [float(re.search(r": ([0-9.]+) ms", line).group(1)) for line in lines]
    check(times == sorted(times), "time runs backwards")
    for args in (["--no-progress"], ["--quiet"], ["--progress"]):
        check(run(CHAOS, *args).stderr == "", f"{args} says something")
    check(run(CHAOS, "--progress=often").returncode == 2, "a time that is none")


def test_ports():
    """A host with many connections keeps all of its ports at work, whatever the order of planes."""
    load = {"pattern": "all_to_all", "bytes": "1MiB", "message": "256KiB", "depth": 4,
            "verify": "none"}
    fabric = {"leaves": 1, "spines": 0, "hosts_per_leaf": 16}
    share = {}
    for planes, qps, ring in ((2, 1, 32), (4, 1, 32), (4, 4, 32), (8, 1, 32), (4, 1, 2)):
        _, r = result({"fabric": {**fabric, "planes": planes}, "ev": {"count": 4 * planes},
                       "host": {"nic_packets": ring}, "load": {**load, "qps": qps}})
        share[planes, qps, ring] = r["goodput"]["total_gbps"] / (16 * planes * 97.1)
    for case, part in share.items():
        check(part > 0.9 if case[2] == 32 else part < 0.6, f"planes, QPs, ring {case}: {part:.2f}")
    # The one port of a plane is kept exact: its ring does not matter.
    one = {"fabric": {**fabric, "planes": 1}, "ev": {"count": 4}, "load": load}
    hashes = {result(one, "--set", f"host.nic_packets={n}")[1]["hash"] for n in (0, 4, 32)}
    check(len(hashes) == 1, "one plane: the ring changes the run")


globals()[f"test_{WHAT}"]()
print(f"{WHAT}: {len(failures)} failures")
sys.exit(1 if failures else 0)
