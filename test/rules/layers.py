# SPDX-License-Identifier: BSD-2-Clause
"""Who may include, call and own what: the table of doc/architecture.md, enforced."""
import os
import re
import subprocess

from tree import includes, strip_c

# Folder -> folders whose public headers it may include besides its own.
MAY_INCLUDE = {
    "lib/mrc_proto": [],
    "lib/mrc_ev": ["lib/mrc_proto"],
    "lib/mrc_nscc": ["lib/mrc_proto"],
    "lib/mrc_sched": ["lib/mrc_proto", "lib/mrc_ev", "lib/mrc_nscc"],
    "lib/mrc_fabric": ["lib/mrc_proto"],
    "lib/mrc_load": ["lib/mrc_proto", "lib/mrc_ev", "lib/mrc_nscc", "lib/mrc_sched"],
    "ctl": ["lib/mrc_proto", "lib/mrc_ev", "lib/mrc_nscc", "lib/mrc_sched", "lib/mrc_fabric",
            "lib/mrc_load"],
    "app/common": ["lib/mrc_proto", "lib/mrc_fabric"],
    "app/mrc-dp": ["app/common", "lib/mrc_proto", "lib/mrc_ev", "lib/mrc_nscc", "lib/mrc_sched",
                   "lib/mrc_fabric", "lib/mrc_load", "ctl"],
    "app/mrc-fabric": ["app/common", "lib/mrc_proto", "lib/mrc_fabric", "ctl"],
}

PURE = ("lib/mrc_proto", "lib/mrc_ev", "lib/mrc_nscc", "lib/mrc_sched", "lib/mrc_fabric",
        "lib/mrc_load")

# System headers of the pure libraries: types, memory, arithmetic and intrinsics, nothing that acts.
PURE_HEADERS = {"assert.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h",
                "stdbool.h", "stddef.h", "stdint.h", "string.h", "stdatomic.h", "immintrin.h",
                "emmintrin.h", "smmintrin.h", "nmmintrin.h", "tmmintrin.h", "wmmintrin.h"}
PURE_HEADERS_OF = {"lib/mrc_proto": {"isa-l.h", "crc.h", "isa-l/crc.h"}}

ACTING_CALLS = re.compile(
    r"(?<![\w.>])(time|clock|clock_gettime|gettimeofday|nanosleep|usleep|sleep|[vfs]?n?printf|puts|"
    r"fputs|putchar|fopen|fwrite|fread|perror|malloc|calloc|realloc|free|posix_memalign|"
    r"aligned_alloc|alloca|mmap|s?rand|s?random|getrandom|getenv|socket|s?end(?:to|msg)|"
    r"recv(?:from|msg)?|open|read|write|close|ioctl|poll|select|pthread_\w+|thrd_\w+|mtx_\w+|"
    r"rte_\w+|json_\w+)\s*\(")

# What the objects of the pure libraries may ask of the outside.
PURE_SYMBOLS = re.compile(
    r"mem(cpy|set|cmp|move|chr)|__mem\w+_chk|str(n?cmp|n?len|chr|rchr)|crc32_\w+|"
    r"__stack_chk_fail|abort|__assert_fail|_GLOBAL_OFFSET_TABLE_|__popcount\w*|__builtin_\w+|"
    r"(f?abs|sqrt|pow|exp|log|log2|log10|floor|ceil|fmin|fmax|round|l?lround|ldexp|fmod|trunc|"
    r"log1p|expm1|nearbyint|rint|l?lrint)f?|__(udiv|div|umod|mod)ti3|__isoc\w+|__fentry__|"
    r"__gcov_\w+|__(asan|ubsan|sanitizer)_\w+|__udivmod\w+")


def folder_of(path):
    """The folder of MAY_INCLUDE that holds the path, or None (tests and perf may see all)."""
    for folder in MAY_INCLUDE:
        if path.startswith(folder + "/"):
            return folder
    return None


def check_includes(tree):
    """Includes point only downward; private headers never leave their folder."""
    home = {}
    for path in tree.match(r"(lib/\w+|ctl|app/[\w-]+)/.*\.h"):
        home.setdefault(os.path.basename(path), []).append(folder_of(path))
    for path in tree.match(r"(lib|ctl|app)/.*\.[ch]"):
        own = folder_of(path)
        for line, name, system in includes(tree.read(path)):
            base = os.path.basename(name)
            if system or base not in home or own in home[base]:
                continue
            owner = home[base][0]
            if owner not in MAY_INCLUDE.get(own, []):
                yield f"{path}:{line}: {own} may not include {name} of {owner}"
            elif owner != "app/common" and not base.startswith("ctl_" if owner == "ctl" else "mrc_") or "private" in base:
                yield f"{path}:{line}: {name} is private to {owner}"


def check_pure(tree):
    """lib/ of the engine: no DPDK, clock, socket, thread, stdio, allocation."""
    for path in tree.match(r"lib/.*\.[ch]"):
        own = folder_of(path)
        if own not in PURE or os.path.basename(path).startswith("gen_"):
            continue  # gen_*.c runs while building and is part of no library
        allowed = PURE_HEADERS | PURE_HEADERS_OF.get(own, set())
        for line, name, system in includes(tree.read(path)):
            if (system and name not in allowed) or name.startswith("rte_"):
                yield f"{path}:{line}: <{name}> has no place in a pure library"
        for line, text in enumerate(strip_c(tree.read(path)).split("\n"), 1):
            for call in ACTING_CALLS.finditer(text):
                yield f"{path}:{line}: {call.group(1)}() has no place in a pure library"


def check_host(tree):
    """Only app/ sees DPDK and threads."""
    for path in tree.match(r"(ctl|lib)/.*\.[ch]"):
        for line, name, _ in includes(tree.read(path)):
            if name.startswith("rte_") or name in ("pthread.h", "threads.h"):
                yield f"{path}:{line}: {name} belongs to app/"


def objdump(archive, *flags):
    out = subprocess.run(["objdump", *flags, archive], capture_output=True, text=True, check=True)
    return out.stdout.split("\n")


def check_globals(archives):
    """No mutable module-level variable: nothing in .data, .bss or thread-local sections."""
    for archive in archives:
        for line in objdump(archive, "-t"):
            field = re.match(r"[0-9a-f]{8,16} .{7} (\S+)\t([0-9a-f]+) (?:\.hidden )?(\S+)", line)
            if not field or int(field.group(2), 16) == 0:
                continue
            section, _, name = field.groups()
            writable = re.match(r"(\.data|\.bss|\.tdata|\.tbss|\*COM\*)", section)
            if writable and not section.startswith(".data.rel.ro") and name != section:
                yield f"{os.path.basename(archive)}: '{name}' is mutable ({section})"


def check_symbols(archives):
    """What the pure libraries call outside themselves."""
    symbol = re.compile(r"[0-9a-f]{8,16} .{7} (\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)")
    wanted, own = {}, set()
    for archive in archives:
        for line in objdump(archive, "-t"):
            field = symbol.match(line)
            if field and field.group(1) == "*UND*":
                wanted.setdefault(field.group(2), os.path.basename(archive))
            elif field:
                own.add(field.group(2))
    for name, archive in sorted(wanted.items()):
        if name not in own and not PURE_SYMBOLS.fullmatch(name):
            yield f"{archive}: calls {name}"


# Modules that are large enough for functions shared between their files under short names.
SHARING = {"libmrc_sched.a": "lib/mrc_sched", "libmrc_load.a": "lib/mrc_load"}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def private_names(directory):
    """What the headers that are not for others declare."""
    names = set()
    for name in os.listdir(os.path.join(ROOT, directory)):
        if name.endswith(".h") and not name.startswith("mrc_"):
            with open(os.path.join(ROOT, directory, name), encoding="utf-8") as file:
                names.update(re.findall(r"\b(\w+)\(", strip_c(file.read())))
    return names


def check_names(archives):
    """Global symbols begin with mrc_; one without is declared in a private header of a module that
    may share, and no other module has one of the same name."""
    symbol = re.compile(r"[0-9a-f]{8,16} g.{6} (\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)")
    owners = {}
    for archive in archives:
        base = os.path.basename(archive)
        private = private_names(SHARING[base]) if base in SHARING else set()
        for line in objdump(archive, "-t"):
            field = symbol.match(line)
            if not field or field.group(1) == "*UND*" or field.group(2).startswith("mrc_"):
                continue
            name = field.group(2)
            if name not in private:
                yield f"{base}: global '{name}' does not begin with mrc_"
            if owners.setdefault(name, base) != base:
                yield f"{base}: global '{name}' is in {owners[name]} as well"
