#!/usr/bin/env python3
"""Runs clang-tidy on every source of the compilation database, again only where something changed.

    tools/run_tidy.py --build build-lint [--jobs N] [--files REGEX] [--checks LIST] [--fix]

A clean result is remembered in BUILD/tidy under a hash of the source, of all headers of ours that it
includes, of the checks and of clang-tidy's version. clang-tidy takes hours over the whole tree, and
run-clang-tidy does all of it each time.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

TIDY = "clang-tidy-19"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@functools.cache
def content_and_includes(path):
    content = path.read_bytes()
    return content, [name.decode() for name in INCLUDE.findall(content)]


def sources_read(source, root):
    """Returns the source and all headers of the repository that it includes, sorted."""
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in content_and_includes(path)[1]:
            todo += [p for p in (root / name, path.parent / name) if p.is_file()][:1]
    return sorted(seen)


def stamp_of(source, root, command, settings):
    digest = hashlib.sha256(settings + command.encode())
    for path in sources_read(source, root):
        digest.update(content_and_includes(path)[0])
    return digest.hexdigest()


def tidy(source, options):
    command = [TIDY, "-quiet", "-p", str(options.build)]
    if options.checks:
        command.append(f"--checks={options.checks}")
    if options.fix:
        command.append("--fix")
    done = subprocess.run(command + [str(source)], capture_output=True, text=True, errors="replace")
    lines = [line for line in done.stdout.splitlines() + done.stderr.splitlines()
             if line and not re.match(r"\d+ (warnings?|errors?) |Suppressed |Use -header-filter", line)]
    return done.returncode, "\n".join(lines)


def check(entry, options, root, settings):
    """Returns the findings in one source, or None if it is known to be clean."""
    source = pathlib.Path(entry["directory"], entry["file"]).resolve()
    stamp = options.build / "tidy" / stamp_of(source, root, entry["command"], settings)
    if stamp.exists():
        return None
    status, findings = tidy(source, options)
    if status == 0 and not findings:
        stamp.touch()
    return findings or (f"{source}: {TIDY} ended with {status}" if status else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", default=os.cpu_count(), type=int)
    parser.add_argument("--files", default="/(orrery|bench)/", help="sources whose path matches")
    parser.add_argument("--checks", default="", help="as for clang-tidy, added to .clang-tidy")
    parser.add_argument("--fix", action="store_true", help="apply clang-tidy's corrections; use --jobs 1")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent

    entries = json.loads((options.build / "compile_commands.json").read_text())
    entries = [entry for entry in entries if re.search(options.files, entry["file"])]
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    settings = version + (root / ".clang-tidy").read_bytes() + options.checks.encode()
    (options.build / "tidy").mkdir(exist_ok=True)

    ran = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for findings in pool.map(lambda entry: check(entry, options, root, settings), entries):
            ran += findings is not None
            failed += bool(findings)
            if findings:
                print(findings, flush=True)
    print(f"{len(entries)} sources, {ran} checked, {failed} with findings")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
