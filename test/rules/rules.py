#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs rule checks: rules.py [--root DIR] CHECK...; `all` for those that need no build.

The checks of objects (globals, symbols, names) take the static libraries behind `--`.
"""
import os
import sys

import conformance
import layers
import project
import style
from tree import Tree

CHECKS = {
    "includes": layers.check_includes,
    "pure": layers.check_pure,
    "host": layers.check_host,
    "spdx": style.check_spdx,
    "sizes": style.check_sizes,
    "lengths": style.check_lengths,
    "bitfields": style.check_bitfields,
    "words": style.check_words,
    "sleep": style.check_sleep,
    "format": style.check_format,
    "shell": style.check_shell,
    "commits": project.check_commits,
    "configs": project.check_configs,
    "schema": project.check_schema,
    "ratio": project.check_ratio,
    "drops": project.check_drops,
    "links": project.check_links,
    "commands": project.check_commands,
    "conformance": conformance.check_conformance,
}
OBJECT_CHECKS = {
    "globals": layers.check_globals,
    "symbols": layers.check_symbols,
    "names": layers.check_names,
}


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    archives = []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, archives = arguments[:cut], arguments[cut + 1:]
    if arguments[:1] == ["--root"]:
        root, arguments = arguments[1], arguments[2:]
    if arguments == ["all"]:
        arguments = list(CHECKS)
    if not arguments or any(a not in CHECKS and a not in OBJECT_CHECKS for a in arguments):
        print(__doc__, "\nchecks:", " ".join([*CHECKS, *OBJECT_CHECKS]), file=sys.stderr)
        return 2
    tree, bad = Tree(root), 0
    for name in arguments:
        found = OBJECT_CHECKS[name](archives) if name in OBJECT_CHECKS else CHECKS[name](tree)
        for finding in found:
            print(f"{name}: {finding}")
            bad += 1
    print(f"{bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
