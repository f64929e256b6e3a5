#!/usr/bin/env python3
"""Checks module dependencies.

    tools/check_layers.py --layers build/layers.txt --allowed tools/layers_allowed.txt --budgets tools/code_budgets.txt --root .

Six rules: a module declares (DEPS) only modules of lower layers, and none that it must not use; a
file includes only what its module declares; a module declares only what one of its files includes;
every source is listed in its module's build files; and a module has at most as many lines of code
as its budget.
"""

import argparse
import pathlib
import re
import sys

from code_lines import code_lines, is_test

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]orrery/(\w+)/', re.MULTILINE)


def parse_layers(text):
    """Reads "trace: base" lines into {"trace": ["base"]}."""
    layers = {}
    for line in text.splitlines():
        module, colon, deps = line.partition(":")
        if colon:
            layers[module.strip()] = deps.split()
    return layers


def parse_floors(text):
    """Returns the layer of each module, 1 the lowest."""
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    floors = [modules for modules in lines if modules and modules[0] != "not"]
    return {module: number for number, modules in enumerate(floors, 1) for module in modules}


def parse_forbidden(text):
    """Reads "not cli: simulate kernel" lines into {"cli": ["simulate", "kernel"]}."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return parse_layers("\n".join(line.removeprefix("not ") for line in lines if line.startswith("not ")))


def parse_budgets(text):
    """Returns the most lines of code of each module."""
    rows = [line.partition("#")[0].split() for line in text.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row}


def floor_violations(layers, floors):
    for module, deps in sorted(layers.items()):
        if module not in floors:
            yield f"'{module}' has no floor: name it in tools/layers_allowed.txt"
            continue
        for dep in deps:
            if floors.get(dep, 0) >= floors[module]:
                yield (f"'{module}' (floor {floors[module]}) declares '{dep}' "
                       f"(floor {floors[dep]}), which is not below it")


def forbidden_violations(layers, forbidden):
    for module, others in sorted(forbidden.items()):
        for dep in layers.get(module, []):
            if dep in others:
                yield f"'{module}' declares '{dep}', which it must not use: tools/layers_allowed.txt"


def sources_of(module, root):
    folder = root / "orrery" / module
    return sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cc"))


def include_violations(layers, root):
    for module, deps in sorted(layers.items()):
        unused = dict.fromkeys(deps)
        for source in sources_of(module, root):
            for used in INCLUDE.findall(source.read_text(errors="replace")):
                unused.pop(used, None)
                if used != module and used not in deps:
                    yield f"{source.relative_to(root)}: '{module}' does not declare '{used}'"
        for dep in unused:
            yield f"'{module}' declares '{dep}', which none of its files includes: remove it from DEPS"


def unlisted_sources(layers, root):
    """An unlisted source would silently not be built."""
    for module in sorted(layers):
        folder = root / "orrery" / module
        lists = [*folder.rglob("CMakeLists.txt"), *folder.rglob("*.cmake")]
        named = set(re.findall(r"[\w./]+\.cc", " ".join(p.read_text() for p in lists)))
        names = {pathlib.PurePath(name).name for name in named}
        for source in sources_of(module, root):
            if source.suffix == ".cc" and source.name not in names:
                yield f"{source.relative_to(root)}: no list of '{module}' names this source"


def budget_violations(layers, budgets, root):
    for module in sorted(layers):
        sources = [p for p in sources_of(module, root) if not is_test(p.relative_to(root))]
        lines = sum(code_lines(p, p.read_text(errors="replace")) for p in sources)
        if module not in budgets:
            yield f"'{module}' has no budget: name it in tools/code_budgets.txt"
        elif lines > budgets[module]:
            yield (f"'{module}' has {lines:,} lines of code, {lines - budgets[module]:,} more than its budget: "
                   "raise it in tools/code_budgets.txt in the same commit and say why")


def violations(layers, allowed, budgets, root):
    yield from floor_violations(layers, parse_floors(allowed))
    yield from forbidden_violations(layers, parse_forbidden(allowed))
    yield from include_violations(layers, root)
    yield from unlisted_sources(layers, root)
    yield from budget_violations(layers, budgets, root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", required=True, type=pathlib.Path)
    parser.add_argument("--allowed", required=True, type=pathlib.Path)
    parser.add_argument("--budgets", required=True, type=pathlib.Path)
    parser.add_argument("--root", default=".", type=pathlib.Path)
    options = parser.parse_args()

    layers = parse_layers(options.layers.read_text())
    found = list(violations(layers, options.allowed.read_text(),
                            parse_budgets(options.budgets.read_text()), options.root))
    for line in found:
        print(line)
    print(f"{len(layers)} modules, {len(found)} violations")
    return 1 if found or not layers else 0


if __name__ == "__main__":
    sys.exit(main())
