#!/usr/bin/env python3
"""Checks that every header compiles on its own.

    tools/check_headers.py --build build [--jobs N] [--root .]

Each header is compiled as the only include of an otherwise empty source, with the flags of a
source of its own module, taken from compile_commands.json.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

FLAGS_WITH_VALUE = {"-o", "-c", "-MF", "-MT", "-MQ"}


def compile_flags(command):
    """Returns compiler and flags without input, output and dependency files."""
    words = shlex.split(command)
    if os.path.basename(words[0]) == "ccache":
        words = words[1:]
    flags = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in FLAGS_WITH_VALUE:
            skip = True
        elif word not in ("-MD", "-MMD"):
            flags.append(word)
    return flags


def module_of(path, root):
    """Returns "orrery/trace" for a file anywhere inside that module, or None."""
    try:
        parts = pathlib.Path(path).resolve().relative_to(root).parts
    except ValueError:
        return None
    return "/".join(parts[:2]) if len(parts) > 2 else None


def flags_by_module(commands, root):
    flags = {}
    for entry in commands:
        module = module_of(os.path.join(entry["directory"], entry["file"]), root)
        if module:
            flags.setdefault(module, compile_flags(entry["command"]))
    return flags


def compile_alone(header, flags, root):
    """Returns the compiler's complaints, empty when there are none."""
    command = flags + ["-fsyntax-only", "-x", "c++", "-"]
    source = f'#include "{header.relative_to(root)}"\n'
    done = subprocess.run(command, input=source, capture_output=True, text=True, cwd=root)
    return done.stderr if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--root", default=".", type=pathlib.Path)
    parser.add_argument("--jobs", default=os.cpu_count(), type=int)
    options = parser.parse_args()
    root = options.root.resolve()

    commands = json.loads((options.build / "compile_commands.json").read_text())
    flags = flags_by_module(commands, root)
    headers = [h for h in sorted((root / "orrery").rglob("*.h")) if module_of(h, root) in flags]

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for header, complaints in zip(
            headers, pool.map(lambda h: compile_alone(h, flags[module_of(h, root)], root), headers)
        ):
            if complaints:
                bad += 1
                print(f"{header.relative_to(root)} does not compile alone:\n{complaints}")
    print(f"{len(headers)} headers, {bad} do not compile alone")
    return 1 if bad or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
