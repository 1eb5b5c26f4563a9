#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""embed.py IN OUT NAME: writes a C file that holds the text of IN as the string NAME."""
import json
import sys

source, target, name = sys.argv[1:]
with open(source, encoding="utf-8") as f:
    lines = f.read().splitlines(keepends=True)
with open(target, "w", encoding="utf-8") as f:
    f.write(f"extern const char {name}[];\nconst char {name}[] =\n")
    f.writelines(f"\t{json.dumps(line)}\n" for line in lines)
    f.write(";\n")
