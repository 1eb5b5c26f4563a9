# SPDX-License-Identifier: BSD-2-Clause
"""What must hold between files: history, configurations, tests against code, documents."""
import json
import os
import re
import subprocess

MAX_TITLE = 60
TEST_RATIO = 0.8


def check_commits(tree):
    """Commit titles read `area: what changes`, at most 60 characters."""
    if not os.path.exists(os.path.join(tree.root, ".git")):
        return
    out = subprocess.run(["git", "-c", "safe.directory=*", "log", "--no-merges",
                          "--format=%h%x09%s"], cwd=tree.root,
                         capture_output=True, text=True, check=False)
    for line in out.stdout.split("\n"):
        if not line:
            continue
        commit, title = line.split("\t", 1)
        if len(title) > MAX_TITLE:
            yield f"{commit}: title of {len(title)} characters: {title}"
        if not re.match(r"[a-z0-9_.,/ -]+: \S", title) or re.search(r": [A-Z][a-z]+ ", title) \
                or title.endswith("."):
            yield f"{commit}: title is not 'area: what changes': {title}"


def check_configs(tree):
    """Every file of config/ is valid under the schema that it names or that its folder implies."""
    import jsonschema  # only this check needs it

    schemas = {p: json.loads(tree.read(p)) for p in tree.match(r"config/.*\.schema\.json")}
    for path, schema in schemas.items():
        try:
            jsonschema.Draft7Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            yield f"{path}: not a schema: {error.message}"
    for path in tree.match(r"(config|test/scenarios)/.*\.json"):
        if path in schemas:
            continue
        try:
            document = json.loads(tree.read(path))
        except ValueError as error:
            yield f"{path}: not JSON: {error}"
            continue
        named = document.get("$schema", "") if isinstance(document, dict) else ""
        schema = f"config/{named}" if f"config/{named}" in schemas else schema_for(path, schemas)
        if schema is None:
            yield f"{path}: no schema in config/ covers it"
            continue
        errors = jsonschema.Draft7Validator(schemas[schema]).iter_errors(document)
        for error in errors:
            where = "/".join(str(p) for p in error.absolute_path)
            yield f"{path}: /{where}: {error.message[:200]} ({schema})"


def schema_for(path, schemas):
    """config/a-b.json: config/a.schema.json if there is one, else mrc-dp's; scenarios their own."""
    names = sorted(schemas, key=len, reverse=True)
    if path.startswith("test/scenarios/"):
        names = [n for n in names if "scenario" in n]
        return names[0] if names else None
    stem = os.path.basename(path)
    for name in names:
        if stem.startswith(os.path.basename(name)[:-len(".schema.json")]):
            return name
    return "config/mrc-dp.schema.json" if "config/mrc-dp.schema.json" in schemas else None


def schema_names(node):
    """Every property name of a schema."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"]
        for child in node.values():
            yield from schema_names(child)
    elif isinstance(node, list):
        for child in node:
            yield from schema_names(child)


def check_schema(tree):
    """The schema of each program and its decoder tables know the same keys."""
    yield from schema_against(tree, "config/mrc-dp.schema.json",
                              r"app/mrc-dp/config\w*\.c|ctl/ctl_(proto|fault)\.[ch]")
    yield from schema_against(tree, "config/mrc-fabric.schema.json",
                              r"app/mrc-fabric/fab_config\.c|ctl/ctl_(proto|fault)\.[ch]")


def schema_against(tree, schema, pattern):
    sources = tree.match(pattern)
    if not tree.exists(schema) or not sources:
        return
    row = re.compile(r"(?:MRC_CTL_[A-Z]+|\b[A-Z_]+)\(\s*\"([\w$]+)\",|\.key = \"([\w$]+)\"")
    tables = {a or b for p in sources for a, b in row.findall(tree.read(p))}
    tables |= {name for p in tree.match(r"lib/mrc_proto/mrc_choice\.h")
               for name in re.findall(r"\bX\(\d+, (\w+),", tree.read(p))}
    names = set(schema_names(json.loads(tree.read(schema))))
    for name in sorted(tables - names):
        yield f"{schema}: lacks '{name}' of {sources[0]}"
    for name in sorted(names - tables):
        yield f"{schema}: '{name}' is in no decoder table"


def count_lines(tree, pattern):
    return sum(1 for p in tree.match(pattern) for line in tree.read(p).split("\n") if line.strip())


def check_ratio(tree):
    """At least 0.8 test lines per engine line; every module has tests of its own."""
    engine = count_lines(tree, r"lib/.*\.[ch]")
    tests = count_lines(tree, r"test/(?!rules/|tools/).*\.(c|h|py|sh)")
    if engine == 0:
        return
    print(f"{tests} test lines, {engine} engine lines, ratio {tests / engine:.2f}")
    if tests < TEST_RATIO * engine:
        yield f"{tests} test lines for {engine} engine lines, less than {TEST_RATIO}"
    modules = {p.split("/")[1] for p in tree.match(r"lib/mrc_\w+/.*\.c")}
    modules |= {"ctl"} if tree.match(r"ctl/.*\.c") else set()
    for module in sorted(modules):
        folder = module.removeprefix("mrc_")
        if not tree.match(rf"test/unit/{folder}/test_\w+\.c"):
            yield f"{module}: no unit test in test/unit/{folder}/"


def check_drops(tree):
    """Every drop reason is named by a test."""
    lists = tree.match(r"lib/mrc_proto/mrc_drop\.h")
    tests = "\n".join(tree.read(p) for p in tree.match(r"test/(?!rules/).*\.(c|h|py|sh)"))
    for path in lists:
        for name in re.findall(r"\bX\((\w+), \"", tree.read(path)):
            quoted = rf"\"{name.lower()}\""
            if not re.search(rf"\bMRC_DROP_{name}\b|{quoted}|\b(DROP|REASON)\({name}\b", tests):
                yield f"{path}: no test names MRC_DROP_{name}"


def check_links(tree):
    """Relative links of the documents lead to files of the project."""
    for path in tree.match(r".*\.md"):
        for line, text in enumerate(tree.read(path).split("\n"), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:|#", target):
                    continue
                base = os.path.normpath(os.path.join(os.path.dirname(path), target.split("#")[0]))
                if not tree.exists(base):
                    yield f"{path}:{line}: link to {target}, which does not exist"


def shell_lines(text):
    """Lines of the fenced code blocks, with their numbers."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield number, line


def check_commands(tree):
    """Commands and files named in the code blocks of the documents exist."""
    known = set()
    if tree.exists("run"):
        listed = re.search(r"case \$command in\n(.*?)esac", tree.read("run"), re.S)
        if listed:
            known = set(re.findall(r"\b[a-z]+\b", " ".join(
                re.findall(r"^\t([a-z |]+)\)", listed.group(1), re.M))))
    for path in tree.match(r"(README|CONTRIBUTING|SECURITY)\.md|doc/.*\.md"):
        for line, text in shell_lines(tree.read(path)):
            for word in re.findall(r"(?:^|\s)\./run(?: ([a-z]+))?", text):
                if word and word not in known:
                    yield f"{path}:{line}: ./run has no command '{word}'"
            for name in re.findall(r"(?:^|[\s=])((?:config|test|perf|doc|lib)/[\w./-]+\.\w+)", text):
                if not tree.exists(name):
                    yield f"{path}:{line}: names {name}, which does not exist"
