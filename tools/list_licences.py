#!/usr/bin/env python3
"""Lists what Orrery takes from others: name, version, licence and how it is used.

    tools/list_licences.py [--program build/orrery]... [--check]

The packages are those of packages.txt and web/package-lock.json; tools/dependencies.csv says what each is for. Problems end it
with status 1: a package that the list lacks, or the other way round; a licence that package-lock.json calls differently;
something linked, compiled in or embedded that NOTICE does not name with its licence; with --program, a shared library of that
program or module that belongs to none of the linked packages. --check prints problems only.
"""

import argparse
import csv
import dataclasses
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASSED_ON = ("linked", "header-only", "embedded")
LIST = "tools/dependencies.csv"
# The C library and its loader belong to the machine.
OF_LIBC = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "linux-vdso")


@dataclasses.dataclass
class Dependency:
    origin: str
    package: str
    name: str
    licence: str
    use: str
    shared_object: str = ""
    version: str = ""

    @property
    def is_passed_on(self):
        return self.use in PASSED_ON


def declared(text):
    """The dependencies of the list."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [Dependency(**row) for row in csv.DictReader(lines)]


def debian_packages(text):
    return [word for word in (line.split("#")[0].strip() for line in text.splitlines()) if word]


def npm_packages(text):
    """{name: (version, licence)}; programs for other kinds of machines, @esbuild/…, count as the package that selects one."""
    packages = json.loads(text)["packages"]
    named = {path.removeprefix("node_modules/"): entry for path, entry in packages.items() if path}
    return {name: (entry["version"], entry.get("license", "")) for name, entry in named.items() if not entry.get("optional")}


def list_problems(dependencies, debian, npm):
    """Differences of the list and the packages."""
    for origin, found, place in (("debian", set(debian), "packages.txt"), ("npm", set(npm), "web/package-lock.json")):
        listed = {one.package for one in dependencies if one.origin == origin}
        yield from (f"{LIST} lacks {name} of {place}" for name in sorted(found - listed))
        yield from (f"{LIST} has {name}, which {place} lacks" for name in sorted(listed - found))
    for one in dependencies:
        stated = npm.get(one.package, ("", ""))[1] if one.origin == "npm" else ""
        if stated and stated != one.licence:
            yield f"{one.package}: the licence is {stated} in web/package-lock.json and {one.licence} in {LIST}"


def notice_problems(dependencies, notice):
    """Dependencies that are passed on and not named in NOTICE, on one line with its licence."""
    lines = notice.splitlines()
    for one in dependencies:
        if one.is_passed_on and not any(one.name in line and one.licence in line for line in lines):
            yield f"NOTICE does not name {one.name} ({one.licence}), which is {one.use}"


def needed_objects(program):
    """Names of the shared libraries that the program itself asks for."""
    done = subprocess.run(["readelf", "-d", str(program)], capture_output=True, text=True, check=True)
    return [line.split("[")[1].rstrip("]") for line in done.stdout.splitlines() if "(NEEDED)" in line]


def object_problems(dependencies, program, names):
    known = tuple(word for one in dependencies if one.use == "linked" for word in one.shared_object.split())
    for name in names:
        if not name.startswith(known + OF_LIBC):
            yield f"{program} needs {name}, which belongs to no linked package of {LIST}"


def debian_version(package):
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def table(dependencies, npm):
    rows = [("name", "version", "licence", "use", "package")]
    for one in dependencies:
        version = npm[one.package][0] if one.package in npm and one.origin == "npm" else debian_version(one.package)
        rows.append((one.name, version or "not installed", one.licence, one.use, f"{one.origin}:{one.package}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    read = lambda name: (ROOT / name).read_text(encoding="utf-8")
    dependencies = declared(read(LIST))
    npm = npm_packages(read("web/package-lock.json"))
    problems = [*list_problems(dependencies, debian_packages(read("packages.txt")), npm),
                *notice_problems(dependencies, read("NOTICE"))]
    for program in options.program:
        problems += object_problems(dependencies, program, needed_objects(program))
    if not options.check:
        print("\n".join(table(dependencies, npm)))
    for problem in problems:
        print(f"list_licences: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
