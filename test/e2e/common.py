# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end tests share: cases, processes with deadlines, configurations.

A test program defines functions marked with @case and ends with main(). Its output has the form of
cmocka's, so that each case counts. Cases run in the order of the file; MRC_TEST_CASE picks some.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MRC_BUILD", os.path.join(ROOT, "build"))
MRC_DP = os.path.join(BUILD, "app/mrc-dp/mrc-dp")
# Every wait ends as soon as what it waits for is there. This is for when it never comes, on a machine that
# gives a process a tenth of a CPU: no statement on how long anything takes.
DEADLINE = 240
SEED = int(os.environ.get("MRC_TEST_SEED", "20260321"), 0)

_cases = []


class Skip(Exception):
    """The machine lacks what the case needs."""


def case(function):
    _cases.append(function)
    return function


def _terminated(*_):
    sys.exit(143)


def main():
    # Told to end, by meson's time limit say: leave every `with` block, so that nothing stays behind.
    signal.signal(signal.SIGTERM, _terminated)
    wanted = os.environ.get("MRC_TEST_CASE", "")
    picked = [c for c in _cases if re.search(wanted, c.__name__)]
    failed = skipped = 0
    print(f"seed {SEED} (MRC_TEST_SEED repeats this run)")
    print(f"[==========] Running {len(picked)} test(s).")
    for function in picked:
        print(f"[ RUN      ] {function.__name__}", flush=True)
        try:
            function()
            print(f"[       OK ] {function.__name__}", flush=True)
        except Skip as why:
            skipped += 1
            print(f"{why}\n[  SKIPPED ] {function.__name__}", flush=True)
        except Exception:  # a case that ends in any way but well has failed
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"[  FAILED  ] {function.__name__}", flush=True)
    if failed or not picked:
        sys.exit(1)
    sys.exit(77 if skipped == len(picked) else 0)


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def wait_until(what, condition, seconds=DEADLINE):
    """Polls until the condition holds and returns its value; fails at the deadline."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def pause():
    """Lets the other processes have the CPU for a moment; nothing may depend on how long."""
    time.sleep(0.001)


def hang_up_ends():
    """In a child: a hang-up ends it, also when the tests themselves run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class TooSlow(Exception):
    """The run was over before the machine came round to show what the case wants to see."""


def long_enough(attempt, *lengths):
    """Calls attempt(length) with longer and longer runs until one was not too slow."""
    for length in lengths:
        try:
            return attempt(length)
        except TooSlow:
            print(f"    a run of {length} is too short on this busy machine", flush=True)
    raise AssertionError(f"not seen in a run of {lengths[-1]}")


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def run(arguments, seconds=DEADLINE, **more):
    """Runs a program to its end; fails when it takes longer."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds,
                              stdin=subprocess.DEVNULL, check=False, **more)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{arguments[0]} did not end within {seconds} s; stderr: "
                             f"{(late.stderr or b'')[-2000:]}") from late
    return Result(done.returncode, done.stdout, done.stderr)


class Process:
    """A program in the background with its output in files; ended on leaving the `with` block."""

    def __init__(self, arguments, **more):
        self._out = tempfile.TemporaryFile("w+")
        self._err = tempfile.TemporaryFile("w+")
        self.child = subprocess.Popen(arguments, stdout=self._out, stderr=self._err,
                                      stdin=subprocess.DEVNULL, preexec_fn=hang_up_ends, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(DEADLINE)

    def alive(self):
        return self.child.poll() is None

    def text(self, stream="err"):
        file = self._err if stream == "err" else self._out
        size = os.fstat(file.fileno()).st_size
        return os.pread(file.fileno(), size, 0).decode("utf-8", "replace")

    def wait(self, seconds=DEADLINE):
        """Exit code; fails when the process does not end in time."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"did not end within {seconds} s; stderr: "
                                 f"{self.text()[-2000:]}") from late


def write_json(folder, name, document):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as out:
        if isinstance(document, str):
            out.write(document)
        else:
            json.dump(document, out, indent=2)
    return path


def only_json(text):
    """The document that is the whole of text; fails when anything stands beside it."""
    return json.loads(text)


def _keys(document, free):
    if isinstance(document, list):
        return set().union(*(_keys(item, free) for item in document))
    if not isinstance(document, dict):
        return set()
    inner = set().union(*(_keys(value, free) for key, value in document.items() if key not in free))
    return inner | set(document)


def documented(document, page, free=()):
    """Every key of a JSON output stands on the page. free: keys whose objects count by name."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        words = set(re.findall(r"\w+", file.read().replace("\\_", "_")))
    equal(sorted(_keys(document, free) - words), [], f"keys that {page} does not name")


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: {got!r} instead of {want!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)
