#!/usr/bin/env python3
"""Checks that all places say the version of CMakeLists.txt, and that the Containerfile names no packages of its own.

    tests/install/check_release.py
"""

import re
import sys

from commands import ROOT

# Places of the version, and the text that leads to it.
PLACES = (
    ("CMakeLists.txt", r"project\(orrery VERSION ([\d.]+)"),
    ("pyproject.toml", r'^version = "([\d.]+)"'),
    ("docs/man/orrery.1", r'"orrery ([\d.]+)"'),
    ("CHANGELOG.md", r"^## ([\d.]+)"),
    ("docs/python.md", r"orrery-([\d.]+)-cp"),
    ("docs/guides/using-the-library.md", r"find_package\(orrery ([\d.]+)"),
)
# Everything else is in packages*.txt, or what the .deb depends on.
PACKAGES_OF_CONTAINER = {"make"}


def version_in(name, pattern):
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else None


def version_problems():
    name, pattern = PLACES[0]
    version = version_in(name, pattern)
    for name, pattern in PLACES[1:]:
        found = version_in(name, pattern)
        if found is None or not f"{version}.".startswith(f"{found}."):
            yield f"{name} says {found}, and CMakeLists.txt {version}"


def container_problems():
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    if not re.search(r"\bmake package\b", text):
        yield "Containerfile does not run `make package`, which installs the packages of packages.txt"
    for words in re.findall(r"apt-get install([^&|;\n]*)", text):
        named = {word for word in words.split() if not word.startswith(("-", "/"))}
        if named - PACKAGES_OF_CONTAINER:
            yield f"Containerfile names {', '.join(sorted(named - PACKAGES_OF_CONTAINER))}: name them in packages.txt"


def main():
    found = [*version_problems(), *container_problems()]
    for problem in found:
        print(f"check_release: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
