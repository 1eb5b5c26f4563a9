#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The schemas of mrc-dp and mrc-fabric refuse what the programs refuse, at every key.

Only where keys, or keys and the machine, contradict each other may the program know better.

usage: test_schemas.py CHECK_CONFIG
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PLANE = {"device": "fabric"}
BASES = {
    "dp": {"endpoints": [{"name": "a", "address": "fd00::1", "planes": [PLANE, PLANE]},
                         {"name": "b", "address": "fd00::2", "planes": [PLANE, PLANE]}]},
    "fabric": {"hosts": [{"name": "a", "addresses": ["fd00::1"], "ports": ["none", "none"]},
                         {"name": "b", "addresses": ["fd00::2"], "ports": ["none", "none"]}]},
}
# What an element needs besides the key that is tried.
NEEDS = {"faults": {"kind": "loss"}, "neighbours": {"address": "fd00::9", "plane": 0, "mac": "02:00:00:00:00:09"}}
VALUES = [None, True, [], {}, -1, 0, 1, 2, 256, 65536, 2**32, 2**62, 1.5, "", "zz", "x" * 300, "a\nb", "a\x7fb",
          "-1", "0", "1", "0x10", "0X10", "1 parsec", "1 ", "1us", "1 us", "1  us", "0h", "1K", "1k", "1kbps", "1Kbit/s",
          "1G", "1Gbit/s", "1bits/s", "1GiB", "1kB", "1PiB", "1%", "1 %", "fd00::1", "10.0.0.1", "02:00:00:00:00:01",
          "020000000001", "01:00:00:00:00:01", [1], ["x"], [0] * 100, [1, 2], ["0x1", "0x1"], ["data", "sack"], ["syn"]]
# Refusals of one key for itself.
PLAIN = re.compile(r"out of range; must be|: must be (?!an IP)|: want |too short|unknown key|negative;|is missing; add|"
                   r"elements;|bytes long|control characters")


def leaves(schema, node, path):
    while "$ref" in node:
        node = schema["definitions"][node["$ref"].rsplit("/", 1)[1]]
    yield path, node
    for key, below in node.get("properties", {}).items():
        yield from leaves(schema, below, path + [key])
    if isinstance(node.get("items"), dict):
        yield from leaves(schema, node["items"], path + [0])


def document_with(base, path, value):
    """The base with the value at the path; an array that is not there gets one element."""
    root = copy.deepcopy(base)
    at = root
    for key, below in zip(path, path[1:]):
        if isinstance(at, list) and not at:
            at.append({})
        elif isinstance(at, dict) and key not in at:
            at[key] = [copy.deepcopy(NEEDS.get(key, {}))] if below == 0 and len(path) > path.index(key) + 2 else \
                [] if below == 0 else {}
        at = at[key]
    if isinstance(at, list):
        at[:1] = [value]
    else:
        at[path[-1]] = value
    return root


def numbers(schema, node):
    """Numbers at the ends of what the schema allows, and right behind them."""
    for part in [node, *node.get("anyOf", []), *node.get("allOf", [])]:
        if "$ref" in part:
            yield from numbers(schema, schema["definitions"][part["$ref"].rsplit("/", 1)[1]])
        for end, beyond in (("minimum", -1), ("maximum", 1)):
            if end in part:
                yield from (part[end], part[end] + beyond)
        if "maxLength" in part:
            yield from ("y" * part["maxLength"], "y" * (part["maxLength"] + 1))


def disagreements(what, program, folder):
    import jsonschema  # only this test needs it
    name = f"mrc-{what}"
    with open(os.path.join(ROOT, "config", f"{name}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.Draft7Validator(schema)
    path = os.path.join(folder, "c.json")
    tried = 0
    for keys, node in leaves(schema, schema, []):
        for value in [*VALUES, *numbers(schema, node)] if keys else []:
            document = document_with(BASES[what], keys, value)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            program.stdin.write(path + "\n")
            program.stdin.flush()
            said = program.stdout.readline().rstrip("\n")
            where = f"{name}: {'.'.join(map(str, keys))}: {value!r}"
            tried += 1
            if said and not said.startswith(path + ": "):
                yield f"{where}: the file is not named: {said}"
            allowed = validator.is_valid(document)
            if not said and not allowed:
                yield f"{where}: only the schema refuses it"
            # A schema compares numbers only.
            if "out of range" in said and isinstance(value, str):
                continue
            if said and allowed and PLAIN.search(said):
                yield f"{where}: only the program refuses it: {said}"
    print(f"{name}: {tried} documents")
    if tried < 3000:
        yield f"{name}: only {tried} documents"


def main():
    try:
        import jsonschema  # noqa: F401 pylint: disable=unused-import
    except ImportError:
        return 77
    found = []
    for what in BASES:
        with tempfile.TemporaryDirectory() as folder, \
                subprocess.Popen([sys.argv[1], what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            found += disagreements(what, program, folder)
            program.stdin.close()
    print("\n".join(line[:300] for line in found))
    return 1 if found else 0


sys.exit(main())
