#!/usr/bin/env python3
"""Runs clang-tidy on every source of the compilation database, again only where something changed.

    tools/run_tidy.py --build build-lint [--jobs N] [--files REGEX] [--checks LIST] [--fix]

A clean result is remembered in BUILD/tidy under a hash of the source, of all headers of ours that it
includes, of the checks and of clang-tidy's version: over the whole tree clang-tidy takes an hour or more
on two cores, and run-clang-tidy does all of it each time.

Three things keep it from taking ten: checks look at our own code alone (tidy_own_code.cc), the static
analyzer gives up on a function after a tenth of its usual number of states, and it leaves out tests and
benchmarks, where the macros of googletest cost it a minute each.
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
COMPILER = "clang++-19"
PLUGIN_SOURCE = pathlib.Path(__file__).with_name("tidy_own_code.cc")
ANALYZER_STATES = 20000
ANALYZER_LIMIT = [f"--extra-arg={word}" for word in
                  ("-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={ANALYZER_STATES}")]
TEST_OR_BENCHMARK = re.compile(r"_(test|bench)\.cc$|/(tests|bench)/")
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


def build_plugin(folder):
    plugin = folder / "own_code.so"
    if not plugin.exists() or plugin.stat().st_mtime < PLUGIN_SOURCE.stat().st_mtime:
        includes = f"-I/usr/lib/llvm-{TIDY.rsplit('-', 1)[1]}/include"
        subprocess.run([COMPILER, "-std=c++17", "-shared", "-fPIC", "-fno-rtti", "-O1", includes,
                        str(PLUGIN_SOURCE), "-o", str(plugin)], check=True)
    return plugin


def tidy(source, options):
    checks = ["orrery-own-code-only"]
    if TEST_OR_BENCHMARK.search(str(source)):
        checks.append("-clang-analyzer-*")
    command = [TIDY, "-quiet", "-p", str(options.build), "-load", str(options.plugin), *ANALYZER_LIMIT,
               "--checks=" + ",".join(([options.checks] if options.checks else []) + checks)]
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
    options.plugin = build_plugin((options.build / "tidy").resolve())

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
