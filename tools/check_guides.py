#!/usr/bin/env python3
"""Checks that documents name what exists.

    tools/check_guides.py --root .

- A link of any Markdown page leads to a file.
- A page of INDEXED folders stands in the README.md of its folder.
- A file that a page of NAMES_FILES names in backticks exists. `tuner.cc` stands for any file of that name; capital NAME in a path
  for any word. Commands in its code blocks ("$ orrery VERB FILE") name verbs, and files of the repository, that exist.
- In docs/guides/adding-*.md, every text in backticks that is no file is in a file that the same step names: `kFormat`,
  `X(NAME)`. White space does not count. `make TARGET` and `orrery VERB` name a target of the Makefile and a verb.
- Such a guide begins with a comment that says which example it follows, as a regular expression, and where the example may occur
  besides:

    <!-- example: kName
    elsewhere: tests/golden/*
    -->

  Every other file that has the example, in its text or its path, is named in the guide: a guide that misses a place is found.

Exit status 1 where one of these does not hold.
"""

import argparse
import fnmatch
import functools
import os
import pathlib
import re
import sys

INDEXED = ("docs", "docs/design", "docs/formats", "docs/guides", "docs/validation")
GUIDES = "docs/guides/adding-*.md"
NAMES_FILES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/guides/*.md", "examples/README.md", "orrery/README.md")
FOLDERS = ("bench", "capture", "cmake", "data", "docs", "examples", "orrery", "python", "tests", "tools", "web")
SKIPPED_FOLDERS = {"node_modules", "dist", "__pycache__"}
# Places where an example may occur besides: history, decisions and results.
ELSEWHERE = ("CHANGELOG.md", "docs/design/*", "docs/validation/*", "docs/tour.md", "data/traced/*")

FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"[\w.*{},-]+(?:/[\w.*{},-]+)*/?")
SUFFIXES = (".cc", ".h", ".cu", ".py", ".ts", ".mjs", ".md", ".cmake", ".csv", ".yaml", ".txt", ".case", ".in")
COMMAND = re.compile(r"^\$ (?:build/)?orrery ([a-z]\w*)(.*)$", re.MULTILINE)
EXAMPLE = re.compile(r"<!-- example: (?P<example>.*?)\s*(?:\nelsewhere: (?P<elsewhere>.*?)\s*)?-->\n")
STEP_END = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*]|\d+\.)[ \t])")


class Tree:
    """The files of the repository."""

    def __init__(self, root):
        self.root = root
        self.files = {path.relative_to(root).as_posix() for path in root.iterdir() if path.is_file()}
        for folder in FOLDERS:
            self.files |= {path.relative_to(root).as_posix() for path in (root / folder).rglob("*")
                           if path.is_file() and not SKIPPED_FOLDERS & set(path.parts)}
        self.of_end = {}
        for name in self.files:
            self.of_end.setdefault(pathlib.PurePosixPath(name).name, []).append(name)
        self.folders = {parent.as_posix() for name in self.files for parent in pathlib.PurePosixPath(name).parents}

    @functools.cache
    def text(self, name):
        """The text of a file; none of a packed or binary one."""
        content = (self.root / name).read_bytes()
        return "" if b"\0" in content[:4096] else content.decode("utf-8", errors="replace")

    @functools.cache
    def named(self, pattern):
        """Files of a path from the root, of its end, or of a folder; NAME is any word."""
        pattern = re.sub(r"\bNAME\b|\bVERB\b|\bAREA\b", "*", pattern)
        alternatives = re.fullmatch(r"(.*)\{(.*)\}(.*)", pattern)
        if alternatives:
            before, words, after = alternatives.groups()
            found = [self.named(before + word.strip() + after) for word in words.split(",")]
            return sorted(set().union(*found)) if all(found) else []
        if pattern.endswith("/") or pattern in self.folders:
            pattern = pattern.rstrip("/") + "/*"
        if "*" not in pattern:
            return sorted(name for name in self.of_end.get(pathlib.PurePosixPath(pattern).name, ()) if f"/{name}".endswith("/" + pattern))
        return sorted(fnmatch.filter(self.files, pattern)) or sorted(fnmatch.filter(self.files, "*/" + pattern))


def without_code(text):
    return FENCE.sub("", text)


def spans_of(text):
    return [" ".join(span.split()) for _, span in SPAN.findall(text)]


def is_file(span):
    return bool(FILE.fullmatch(span)) and not span.startswith(("..", ".")) and (
        span.endswith(SUFFIXES) or ("/" in span and re.match(r"[a-z_]+/", span) and span.split("/")[0] in FOLDERS))


# --- Links and indexes


def broken_links(page, tree):
    for target in LINK.findall(SPAN.sub("", without_code(tree.text(page)))):
        path = target.partition("#")[0]
        if path and "://" not in path and not path.startswith("mailto:"):
            if not (tree.root / page).parent.joinpath(path).exists():
                yield f"{page}: links to {target}, which does not exist"


def missing_in_index(folder, tree):
    index = f"{folder}/README.md"
    if index not in tree.files:
        yield f"{index}: missing; it has a line for each page of the folder"
        return
    linked = {target.partition("#")[0] for target in LINK.findall(tree.text(index))}
    for name in sorted(tree.files):
        inner = name.removeprefix(folder + "/")
        is_page = name.startswith(folder + "/") and inner != "README.md" and (
            "/" not in inner or (inner.count("/") == 1 and inner.endswith("/README.md")))
        if is_page and inner.endswith(".md") and inner not in linked:
            yield f"{index}: has no line for {inner}"


# --- Files, symbols and examples


def missing_files(page, tree):
    for span in spans_of(without_code(tree.text(page))):
        if is_file(span) and not tree.named(span):
            yield f"{page}: names {span}, which does not exist"
    for verb, words in COMMAND.findall("\n".join(block.group(0) for block in FENCE.finditer(tree.text(page)))):
        if not is_verb(verb, tree):
            yield f"{page}: has a command with orrery {verb}, which is no verb"
        for word in words.partition(" # ")[0].split():
            if is_file(word) and word.split("/")[0] in FOLDERS and not (tree.root / word).exists():
                yield f"{page}: has a command with {word}, which does not exist"


def is_in(span, name, tree):
    pattern = r"\s*".join(re.escape(part) for part in re.findall(r"\w+|[^\w\s]", span))
    return re.search(pattern.replace("NAME", r"\w+"), tree.text(name)) is not None


def missing_symbols(page, tree):
    for step in STEP_END.split(without_code(tree.text(page))):
        spans = spans_of(step)
        files = [name for span in spans if is_file(span) for name in tree.named(span)]
        for span in spans:
            problem = "" if is_file(span) else problem_of_span(span, files, tree)
            if problem:
                yield f"{page}: {problem}"


def problem_of_span(span, files, tree):
    if span.startswith("make "):
        target = span.split()[1]
        return "" if re.search(rf"^{re.escape(target)}:", tree.text("Makefile"), re.MULTILINE) else f"`{span}`: no such target"
    if span.startswith("orrery "):
        return "" if span.split()[1].startswith("-") or is_verb(span.split()[1], tree) else f"`{span}`: no such verb"
    if not files:
        return f"`{span}` stands in a step that names no file"
    return "" if any(is_in(span, name, tree) for name in files) else f"`{span}` is in none of the files that its step names"


def is_verb(word, tree):
    verb = re.compile(rf'(?:AddVerb\(\s*|\{{)"{re.escape(word)}",')
    return any(verb.search(tree.text(name)) for name in tree.files if name.startswith("orrery/cli/") and name.endswith(".cc"))


def forgotten_places(page, tree):
    """Files that have the example of a guide and that the guide does not name."""
    text = tree.text(page)
    header = EXAMPLE.match(text)
    if not header:
        yield f"{page}: does not begin with a comment that says its example"
        return
    example = re.compile(header.group("example"))
    elsewhere = (*ELSEWHERE, "docs/guides/*", *(header.group("elsewhere") or "").split())
    named = {name for span in spans_of(without_code(text)) if is_file(span) for name in tree.named(span)}
    named |= {os.path.normpath(f"{page}/../{target}") for target in LINK.findall(text)}
    having = [name for name in sorted(tree.files) if not any(fnmatch.fnmatch(name, pattern) for pattern in elsewhere)
              and (example.search(name) or example.search(tree.text(name)))]
    if not having:
        yield f"{page}: nothing is called {header.group('example')}"
    for name in having:
        if name not in named:
            yield f"{page}: does not name {name}, where its example occurs"


def problems(root):
    tree = Tree(root)
    pages = sorted(name for name in tree.files if name.endswith(".md"))
    for page in pages:
        yield from broken_links(page, tree)
    for folder in INDEXED:
        yield from missing_in_index(folder, tree)
    for page in pages:
        if any(fnmatch.fnmatch(page, pattern) and page.count("/") == pattern.count("/") for pattern in NAMES_FILES):
            yield from missing_files(page, tree)
        if fnmatch.fnmatch(page, GUIDES):
            yield from missing_symbols(page, tree)
            yield from forgotten_places(page, tree)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    found = list(problems(parser.parse_args().root.resolve()))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
