# SPDX-License-Identifier: BSD-2-Clause
"""How a file must look: the style sheet of CONTRIBUTING.md, as far as a program can tell."""
import os
import re
import statistics
import subprocess

from tree import functions, strip_c

CODE = r".*\.(c|h|py|sh|build)|run|\.ci/run|meson_options\.txt"
MAX_FILE, MAX_FUNCTION, MEDIAN, PERCENTILE_90 = 800, 100, 15, 45

# Spelled in pieces so that this file does not accuse itself.
FORBIDDEN = re.compile("|".join((
    r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X\b",
    r"(?i:\bst" + r"ub(s|bed|bing)?\b)", r"(?i:not (yet )?imple" + r"mented)", r"/wo" + r"rk/", r"\bsha" + r"red/(spec|design|style)",
    r"\b[Ii]s" + r"sue #?[0-9]+\b", r"wire\.m" + r"d\b", r"nscc\.m" + r"d\b", r"bugs\.m" + r"d\b",
    r"design\.m" + r"d\b", r"scenarios\.m" + r"d\b", r"reliability\.m" + r"d\b")))
OWN_PAGES = re.compile(r"doc/\w+\.md")


def check_spdx(tree):
    """Every source file names its licence in its first two lines."""
    for path in tree.match(CODE):
        head = tree.read(path).split("\n")[:2]
        if not any("SPDX-License-Identifier: BSD-2-Clause" in line for line in head):
            yield f"{path}:1: no SPDX-License-Identifier: BSD-2-Clause"


def check_sizes(tree):
    """No file over 800 lines, no function over 100."""
    for path in tree.match(CODE):
        count = tree.read(path).count("\n")
        if count > MAX_FILE:
            yield f"{path}: {count} lines, more than {MAX_FILE}"
    for path in tree.match(r".*\.[ch]"):
        for name, line, count in functions(tree.read(path)):
            if count > MAX_FUNCTION:
                yield f"{path}:{line}: {name} has {count} lines, more than {MAX_FUNCTION}"


def function_lengths(tree, pattern=r"(lib|ctl|app)/.*\.[ch]"):
    return sorted(n for p in tree.match(pattern) for _, _, n in functions(tree.read(p)))


def check_lengths(tree):
    """Most functions are short: the median and the 90th percentile of lib, ctl and app."""
    lengths = function_lengths(tree)
    if not lengths:
        return
    median = statistics.median(lengths)
    tenth = lengths[min(len(lengths) - 1, int(len(lengths) * 0.9))]
    print(f"{len(lengths)} functions: median {median:g} lines, 90 % within {tenth}, "
          f"longest {lengths[-1]}")
    if median > MEDIAN:
        yield f"median function length {median:g}, more than {MEDIAN}"
    if tenth > PERCENTILE_90:
        yield f"a tenth of the functions is longer than {PERCENTILE_90} lines (limit at {tenth})"


def check_bitfields(tree):
    """No C bit-field: its layout is the compiler's."""
    field = re.compile(r"^\s+(?:const\s+)?(?:unsigned|signed|int|bool|u?int\d+_t|enum \w+)"
                       r"(?:\s+\w+)*\s*:\s*\d+\s*[;,]")
    for path in tree.match(r".*\.[ch]"):
        for line, text in enumerate(strip_c(tree.read(path)).split("\n"), 1):
            if field.match(text):
                yield f"{path}:{line}: bit-field"


def check_words(tree):
    """No note to self, no promise, no private reference."""
    for path in tree.paths:
        if path.startswith("test/rules/"):
            continue
        for line, text in enumerate(tree.read(path).split("\n"), 1):
            found = FORBIDDEN.search(OWN_PAGES.sub("", text))
            if found:
                yield f"{path}:{line}: '{found.group(0)}'"


def check_sleep(tree):
    """No test sleeps: time is an argument, and end-to-end tests wait for an event."""
    sleep = re.compile(r"(?<![\w.>])(u|nano|clock_nano|rte_delay_us_|)sleep\s*\(")
    for path in tree.match(r"test/.*\.[ch]"):
        for line, text in enumerate(strip_c(tree.read(path)).split("\n"), 1):
            if sleep.search(text):
                yield f"{path}:{line}: sleeps"
    for path in tree.match(r"test/.*\.(py|sh)"):
        if path.startswith(("test/rules/", "test/e2e/common")):
            continue
        for line, text in enumerate(tree.read(path).split("\n"), 1):
            if re.search(r"\btime\.sleep\(|(^|[;&|]|\bdo\b|\bthen\b)\s*sleep\s+[0-9$]", text):
                yield f"{path}:{line}: sleeps"


def check_format(tree):
    """clang-format has nothing to change."""
    files = tree.match(r".*\.[ch]")
    if not files:
        return
    style = os.path.join(tree.root, ".clang-format")
    out = subprocess.run(["clang-format", f"--style=file:{style}", "--dry-run", *files],
                         cwd=tree.root, capture_output=True, text=True, check=False)
    seen = set()
    for line in out.stderr.split("\n"):
        found = re.match(r"(\S+?):(\d+):\d+: (warning|error)", line)
        if found and found.group(1) not in seen:
            seen.add(found.group(1))
            yield f"{found.group(1)}:{found.group(2)}: not formatted (./run fmt)"
    if out.returncode != 0 and not seen:
        yield f"clang-format failed: {out.stderr.strip()[:200]}"


def check_shell(tree):
    """shellcheck is content with every shell script."""
    scripts = [p for p in tree.paths if p.endswith(".sh") or p in ("run", ".ci/run")]
    if not scripts:
        return
    out = subprocess.run(["shellcheck", "-x", "-f", "gcc", *scripts], cwd=tree.root,
                         capture_output=True, text=True, check=False)
    yield from (line for line in out.stdout.split("\n") if line)
