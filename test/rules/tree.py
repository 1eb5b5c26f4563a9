# SPDX-License-Identifier: BSD-2-Clause
"""The files of the project as the checks see them, and the little C reading they need."""
import os
import re
import subprocess


class Tree:
    """Text files below a root, by relative path. Tracked ones when the root is a git checkout."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(p for p in self._list() if os.path.isfile(os.path.join(root, p)))
        self._texts = {}

    def _list(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            out = subprocess.run(
                ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard"], cwd=self.root, capture_output=True, check=True, text=True)
            return [p for p in out.stdout.split("\0") if p]
        found = []
        for base, dirs, files in os.walk(self.root):
            dirs[:] = [d for d in dirs if d != "__pycache__" and not d.startswith("build")]
            found += [os.path.relpath(os.path.join(base, f), self.root) for f in files]
        return found

    def read(self, path):
        """Text of a file; empty for a binary one."""
        if path not in self._texts:
            with open(os.path.join(self.root, path), "rb") as f:
                raw = f.read()
            self._texts[path] = "" if b"\0" in raw else raw.decode("utf-8", "replace")
        return self._texts[path]

    def match(self, pattern):
        """Paths whose whole name matches the regular expression."""
        return [p for p in self.paths if re.fullmatch(pattern, p)]

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))


def strip_c(text):
    """C text with comments and the insides of literals blanked; lines and columns stay."""
    token = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def blank(match):
        word = match.group(0)
        if word[0] == "/":
            return re.sub(r"[^\n]", " ", word)
        return word[0] + " " * (len(word) - 2) + word[0]

    return token.sub(blank, text)


def includes(text):
    """(line number, name, is_system) of each #include."""
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line)
        if found:
            yield number, found.group(2), found.group(1) == "<"


def functions(text):
    """(name, first line, number of lines) of each function body that ends in a column-0 brace."""
    lines = strip_c(text).split("\n")
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            first = start
            while first > 0 and lines[first - 1].strip() \
                    and not re.search(r"[;}]\s*$", lines[first - 1]):
                first -= 1
            signature = " ".join(lines[first:start])
            name = re.search(r"(\w+)\s*\(", signature)
            if name:
                yield name.group(1), first + 1, i - first + 1
            start = None
