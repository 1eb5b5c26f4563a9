#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the installed copy of a page: links to what is not installed become plain text.

    installed.py PAGE OUTPUT FILE...       page and files by their path in the project
    installed.py --check FOLDER            every link of every page in an installed tree leads somewhere
"""
import os
import re
import sys

LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def target_of(page, link):
    """Path of a link's target seen from where the page's path begins; None: not a file of ours."""
    if re.match(r"[a-z]+:|#", link):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(page), link.split("#")[0]))


def convert(page, output, installed):
    def replace(match):
        target = target_of(page, match.group(2))
        return match.group(0) if target is None or target in installed else match.group(1)

    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = LINK.sub(replace, file.read())
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


def check(folder):
    pages = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names
             if name.endswith(".md")]
    dead = [f"{page}: {link}" for page in pages for _, link in LINK.findall(open(page, encoding="utf-8").read())
            if target_of(page, link) and not os.path.exists(target_of(page, link))]
    print(*dead, f"{len(pages)} pages, {len(dead)} dead links", sep="\n")
    sys.exit(1 if dead or len(pages) < 5 else 0)


if sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    convert(sys.argv[1], sys.argv[2], set(sys.argv[3:]))
