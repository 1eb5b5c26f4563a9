#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts the cases in meson's testlog.json: prints "PASSED FAILED SKIPPED", then what failed.

A cmocka program counts once per case, any other program once. A program that ends badly although
all its cases passed (a sanitizer's report at exit, a time-out) counts as one failure more.
"""
import json
import re
import sys

GOOD = ("OK", "EXPECTEDFAIL")
SKIP = ("SKIP",)


def cases_of(record):
    """(passed, failed names, skipped) of one record of the log."""
    text = (record.get("stdout") or "") + "\n" + (record.get("stderr") or "")
    name, result = record["name"], record["result"]
    run = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
    if not run:
        if result in GOOD:
            return 1, [], 0
        return (0, [], 1) if result in SKIP else (0, [f"{name} ({result})"], 0)
    good = set(re.findall(r"^\[       OK \] (\S+)", text, re.M))
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)", text, re.M))
    failed = [f"{name}: {case}" for case in dict.fromkeys(run) if case not in good | skipped]
    if result not in GOOD + SKIP and not failed:
        failed = [f"{name} ({result})"]
    return len(good - skipped), failed, len(skipped)


def tally(lines):
    passed, failed, skipped = 0, [], 0
    for line in lines:
        if line.strip():
            p, f, s = cases_of(json.loads(line))
            passed, failed, skipped = passed + p, failed + f, skipped + s
    return passed, failed, skipped


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        passed, failed, skipped = tally(log)
    print(passed, len(failed), skipped)
    for name in failed:
        print(name)


if __name__ == "__main__":
    main()
