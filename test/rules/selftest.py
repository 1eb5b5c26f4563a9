#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The checks checked: each must find nothing in a clean sample and the fault in a broken one."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))

import conformance
import layers
import project
import style
import tally
from tree import Tree, functions

HEAD = "/* SPDX-License-Identifier: BSD-2-Clause */\n"
LONG = HEAD + "int f(void)\n{\n" + "\tg();\n" * 120 + "}\n"
SCHEMA = '{"type": "object", "additionalProperties": false, "properties": {"a": {"type": "integer"}}}'
DROP = 'X(ICRC, "text")\n'
CLAUSES = "R-1.1\ttable 1\ta rule\n"

# (check, {path: text} that is clean, [{path: text} that is broken, ...])
SAMPLES = [
    (layers.check_includes,
     {"lib/mrc_ev/a.c": '#include "mrc_psn.h"\n', "lib/mrc_proto/mrc_psn.h": ""},
     [{"lib/mrc_proto/a.c": '#include "mrc_ev.h"\n', "lib/mrc_ev/mrc_ev.h": ""},
      {"lib/mrc_nscc/a.c": '#include "mrc_ev.h"\n', "lib/mrc_ev/mrc_ev.h": ""},
      {"ctl/a.c": '#include "worker.h"\n', "app/mrc-dp/worker.h": ""},
      {"lib/mrc_ev/a.c": '#include "inner.h"\n', "lib/mrc_proto/inner.h": ""}]),
    (layers.check_pure,
     {"lib/mrc_ev/a.c": "#include <string.h>\n/* printf(now) */\nvoid f(void)\n{\n"
                        "\tenv->free(ctx);\n\tx.time(1);\n}\n"},
     [{"lib/mrc_ev/a.c": "#include <stdio.h>\n"},
      {"lib/mrc_sched/a.c": "#include <rte_mbuf.h>\n"},
      {"lib/mrc_nscc/a.c": "#include <isa-l.h>\n"},
      {"lib/mrc_proto/a.c": "int f(void)\n{\n\treturn clock_gettime(0, 0);\n}\n"},
      {"lib/mrc_load/a.c": "void *f(void)\n{\n\treturn malloc(3);\n}\n"},
      {"lib/mrc_fabric/a.h": "static inline void f(void)\n{\n\tprintf(\"x\");\n}\n"}]),
    (layers.check_host,
     {"app/mrc-dp/a.c": "#include <rte_eal.h>\n#include <pthread.h>\n"},
     [{"ctl/a.c": "#include <rte_eal.h>\n"}, {"ctl/a.h": "#include <pthread.h>\n"}]),
    (style.check_spdx, {"a.c": HEAD, "run": "#!/bin/sh\n# " + HEAD},
     [{"a.c": "int x;\n"}, {"meson.build": "project()\n"}, {"t.py": "\n\n\n# " + HEAD}]),
    (style.check_sizes, {"a.c": HEAD + "int x;\n" * 700},
     [{"a.c": HEAD + "int x;\n" * 900}, {"a.c": LONG}]),
    (style.check_lengths, {"lib/a.c": "int f(void)\n{\n\treturn 1;\n}\n" * 20},
     [{"lib/a.c": LONG}]),
    (style.check_bitfields, {"a.h": "struct a {\n\tint b; /* x : 3 */\n\tint c;\n};\n"},
     [{"a.h": "struct a {\n\tunsigned int b : 3;\n};\n"},
      {"a.h": "struct a {\n\tuint32_t b:3;\n};\n"}]),
    (style.check_words, {"a.c": "/* a robust stubborn note; doc/protocol.md */\n"},
     [{"a.c": "/* TO" + "DO: later */\n"}, {"doc/a.md": "see wire.m" + "d\n"},
      {"a.py": "# a st" + "ub\n"}, {"a.c": "/* not imple" + "mented */\n"}]),
    (style.check_sleep, {"test/a.c": "/* sleep(1) */\nvoid f(void)\n{\n\tenv->sleep(1);\n}\n"},
     [{"test/a.c": "void f(void)\n{\n\tusleep(1);\n}\n"},
      {"test/e2e/a.py": "time.sl" + "eep(1)\n"}, {"test/e2e/a.sh": "foo; sl" + "eep 1\n"}]),
    (style.check_format, {"a.c": "int x;\n"}, [{"a.c": "int   x ;\n"}]),
    (style.check_shell, {"a.sh": "#!/bin/sh\necho \"$1\"\n"}, [{"a.sh": "#!/bin/sh\necho $1\n"}]),
    (project.check_configs,
     {"config/mrc-dp.schema.json": SCHEMA, "config/demo.json": '{"a": 1}'},
     [{"config/mrc-dp.schema.json": SCHEMA, "config/demo.json": '{"a": "1"}'},
      {"config/mrc-dp.schema.json": SCHEMA, "config/demo.json": '{"b": 1}'},
      {"config/mrc-dp.schema.json": SCHEMA, "config/demo.json": "{"},
      {"config/mrc-dp.schema.json": '{"type": 3}'}, {"config/demo.json": "{}"}]),
    (project.check_schema,
     {"config/mrc-dp.schema.json": SCHEMA, "app/mrc-dp/config.c": 'MRC_CTL_UINT("a", struct x)'},
     [{"config/mrc-dp.schema.json": SCHEMA, "app/mrc-dp/config.c": '{.key = "b"}, TIME("a", x)'},
      {"config/mrc-dp.schema.json": SCHEMA, "app/mrc-dp/config.c": ""}]),
    (project.check_ratio,
     {"lib/mrc_ev/a.c": "int a;\n" * 10, "test/unit/ev/test_a.c": "int b;\n" * 8},
     [{"lib/mrc_ev/a.c": "int a;\n" * 10, "test/unit/ev/test_a.c": "int b;\n" * 7},
      {"lib/mrc_ev/a.c": "int a;\n", "test/unit/nscc/test_a.c": "int b;\n" * 7}]),
    (project.check_drops,
     {"lib/mrc_proto/mrc_drop.h": DROP, "test/unit/proto/test_a.c": "MRC_DROP_ICRC"},
     [{"lib/mrc_proto/mrc_drop.h": DROP, "test/unit/proto/test_a.c": "MRC_DROP_ICRC_OTHER"}]),
    (project.check_links, {"doc/a.md": "[b](../README.md) [c](http://x.org/) [d](#here)\n",
                           "README.md": ""},
     [{"doc/a.md": "[b](gone.md)\n"}]),
    (project.check_commands,
     {"README.md": "```\n./run demo --json\nconfig/a.json\n```\n./run nothing\n",
      "run": "case $command in\n\tdemo | test) x ;;\nesac\n", "config/a.json": ""},
     [{"README.md": "```\n./run fly\n```\n", "run": "case $command in\n\tdemo) x ;;\nesac\n"},
      {"README.md": "```\nmrc-dp -c config/gone.json\n```\n"}]),
]

MATRIX = {"doc/clauses.tsv": CLAUSES, "lib/mrc_ev/a.c": "/* spec: R-1.1 */\n",
          "test/unit/a.c": "/* spec: R-1.1. */\n"}
SAMPLES.append((conformance.check_conformance,
                {**MATRIX, "doc/conformance.md": None},
                [{**MATRIX, "test/unit/a.c": ""}, {**MATRIX, "lib/mrc_ev/a.c": ""},
                 {**MATRIX, "lib/mrc_ev/b.c": "/* spec: R-9.9 */"},
                 {**MATRIX, "doc/clauses.tsv": CLAUSES + CLAUSES},
                 {**MATRIX, "doc/conformance.md": "old"}]))


def plant(root, files):
    for path, text in files.items():
        if text is None:
            continue
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)
    if "doc/clauses.tsv" in files and files.get("doc/conformance.md", "") is None:
        tree = Tree(root)
        text = conformance.page(conformance.clauses(tree)[0],
                                conformance.tags(tree, conformance.CODE),
                                conformance.tags(tree, conformance.TESTS))
        plant(root, {"doc/conformance.md": text})


def run_sample(check, files):
    with tempfile.TemporaryDirectory() as root:
        style_file = os.path.join(os.path.dirname(__file__), "..", "..", ".clang-format")
        with open(style_file, encoding="utf-8") as f:
            plant(root, {".clang-format": f.read()})
        plant(root, files)
        return list(check(Tree(root)))


def run_commits(titles):
    with tempfile.TemporaryDirectory() as root:
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", root]
        subprocess.run([*git, "init", "-q"], check=True)
        for title in titles:
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", title], check=True)
        return list(project.check_commits(Tree(root)))


def run_objects(check, source):
    with tempfile.TemporaryDirectory() as root:
        plant(root, {"a.c": source})
        name = os.path.join(root, "a")
        subprocess.run(["cc", "-fPIC", "-O0", "-fno-builtin", "-c", name + ".c", "-o", name + ".o"],
                       check=True)
        subprocess.run(["ar", "rcs", name + ".a", name + ".o"], check=True)
        return list(check([name + ".a"]))


COMMITS = [(["ev: skip a marked path once", "test, run: SACK cases"], True),
           (["Update"], False), (["ev: " + "x" * 60], False), (["ev: Skip paths"], False)]
OBJECTS = [
    (layers.check_globals, "const char *const names[] = {\"a\"};\nconst int x = 3;\n", True),
    (layers.check_globals, "int x = 3;\n", False),
    (layers.check_globals, "static int x;\nint f(void) { return x++; }\n", False),
    (layers.check_globals, "int f(void) { static int n; return n++; }\n", False),
    (layers.check_globals, "_Thread_local int x;\n", False),
    (layers.check_symbols, "#include <string.h>\nvoid f(char *p) { memset(p, 0, 3); }\n", True),
    (layers.check_symbols, "#include <stdlib.h>\nvoid *f(void) { return malloc(3); }\n", False),
    (layers.check_names, "int mrc_f(void) { return 1; }\nstatic int g(void) { return mrc_f(); }\n"
                         "int mrc_h(void) { return g(); }\n", True),
    (layers.check_names, "int f(void) { return 1; }\n", False),
    (layers.check_names, "extern int mrc_x;\nint x;\n", False),
    (layers.check_symbols, "#include <time.h>\nlong f(void) { return time(0); }\n", False),
]


CMOCKA = ("[==========] Running 3 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n{b}"
          "[ RUN      ] c\n[  SKIPPED ] c\n")
# (record of meson's log, passed, failed, skipped)
RECORDS = [
    ({"name": "x", "result": "OK"}, 1, 0, 0),
    ({"name": "x", "result": "SKIP"}, 0, 0, 1),
    ({"name": "x", "result": "TIMEOUT", "stdout": "working"}, 0, 1, 0),
    ({"name": "x", "result": "OK", "stdout": CMOCKA.format(b="[       OK ] b\n")}, 2, 0, 1),
    ({"name": "x", "result": "FAIL", "stdout": CMOCKA.format(b=""),
      "stderr": "[  FAILED  ] b\n"}, 1, 1, 1),
    ({"name": "x", "result": "FAIL", "stdout": CMOCKA.format(b="[       OK ] b\n"),
      "stderr": "AddressSanitizer: leak"}, 2, 1, 1),
]


def wrong_tallies():
    for record, *want in RECORDS:
        passed, failed, skipped = tally.cases_of(record)
        if [passed, len(failed), skipped] != want:
            yield f"{record}: {passed}, {failed}, {skipped} instead of {want}"


def expect(what, findings, clean):
    if bool(findings) == (not clean):
        return 0
    print(f"{what}: {'clean sample accused: ' + str(findings) if clean else 'fault not found'}")
    return 1


def main():
    bad = count = 0
    for check, clean, broken in SAMPLES:
        bad += expect(check.__name__, run_sample(check, clean), True)
        for number, files in enumerate(broken):
            bad += expect(f"{check.__name__} broken {number}", run_sample(check, files), False)
            count += 1
    for titles, clean in COMMITS:
        bad += expect(f"check_commits {titles[0][:20]}", run_commits(titles), clean)
        count += 1
    for check, source, clean in OBJECTS:
        bad += expect(f"{check.__name__} {source[:30]!r}", run_objects(check, source), clean)
        count += 1
    bad += expect("tally", list(wrong_tallies()), True)
    lengths = [n for _, _, n in functions(LONG)]
    bad += expect("functions()", [] if lengths == [123] else [lengths], True)
    print(f"{count} samples, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
