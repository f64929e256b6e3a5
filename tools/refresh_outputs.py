#!/usr/bin/env python3
"""Runs the commands shown in a document and inserts their output.

    tools/refresh_outputs.py --program build/orrery [--check] PAGE...

In blocks that begin with ```console, lines "$ …" are bash commands, run in the root of the repository with `orrery` in
the path; the lines after a command are its output. Other blocks are not changed. With --check nothing is written: exit
status 1 if an output differs other than in run time.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "```console", "```"
RUN_TIME = re.compile(r" in [0-9.]+ s$")


def output_of(command, folder):
    """The output of a command, including errors, as lines."""
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, **path}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def refreshed(text, run):
    """The document with the outputs of `run(command)`."""
    lines, is_inside = [], False
    for line in text.split("\n"):
        if is_inside and line == END:
            is_inside = False
        if not is_inside:
            lines.append(line)
        elif line.startswith("$ "):
            lines += [line, *run(line[2:])]
        is_inside = is_inside or line == BEGIN
    return "\n".join(lines)


def without_times(text):
    return [RUN_TIME.sub("", line) for line in text.split("\n")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(options.program), os.path.join(folder, "orrery"))
        for page in options.pages:
            before = page.read_text(encoding="utf-8")
            after = refreshed(before, lambda command: output_of(command, folder))
            if without_times(before) == without_times(after):
                continue
            differing += 1
            print(f"{page}: outputs {'differ' if options.check else 'were refreshed'}")
            if not options.check:
                page.write_text(after, encoding="utf-8")
    return 1 if differing and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
