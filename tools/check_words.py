#!/usr/bin/env python3
"""Finds words that readers would not search for, and names the word to use instead.

    tools/check_words.py --root . [--show PATTERN...] [PATH...]

tools/words.csv has a regular expression, the words to use instead, where the rule holds (docs, messages, comments) and an
example that the expression finds. A blank in an expression stands for any white space. In Markdown, code, link targets, file names, generated
blocks and the comment at the beginning of a generated document do not count. In sources, a message is a string literal with a blank in it.

Exit status 1 if a file of COVERED has such a word. For all other files the number of places is printed; --show lists them for
paths that match a pattern. With PATHs, only these files are read.
"""

import argparse
import collections
import csv
import dataclasses
import fnmatch
import pathlib
import re
import sys

import generated_header

# Patterns of the paths that must be clean. Add a folder here once its files are.
COVERED = ("*.md", "bench/*", "capture/*", "orrery/*", "python/*", "tests/*", "tools/*", "web/*")
# History keeps its words; the scoreboard is written by a tool as a whole; the test is about these words.
NOT_CHECKED = ("CHANGELOG.md", "docs/validation/scoreboard.md", "tools/check_words_test.py")
FOLDERS = ("bench", "capture", "data", "docs", "examples", "orrery", "python", "tests", "tools", "web")
SKIPPED_FOLDERS = {"node_modules", "dist", "__pycache__"}
DOCS, MESSAGES, COMMENTS = "docs", "messages", "comments"


@dataclasses.dataclass
class Rule:
    pattern: re.Pattern
    instead: str
    where: tuple
    example: str


@dataclasses.dataclass
class Block:
    """Consecutive text of one kind, such as a paragraph or the lines of a comment."""

    line: int
    kind: str
    text: str


@dataclasses.dataclass
class Place:
    path: str
    line: int
    found: str
    instead: str

    def __str__(self):
        return f"{self.path}:{self.line}: '{self.found}': {self.instead}"


def read_rules(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [Rule(expression(row["pattern"]), row["instead"], tuple(row["where"].split()), row["example"])
                for row in csv.DictReader(file)]


def expression(pattern):
    """A blank stands for any white space, but not in what looks behind, which must have a fixed length."""
    parts = re.split(r"(\(\?<[!=][^)]*\))", pattern)
    return re.compile("".join(part if part.startswith("(?<") else part.replace(" ", r"\s+") for part in parts), re.IGNORECASE)


# --- Markdown

FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
NOT_PROSE = (
    re.compile(r"\A<!-- generated\n.*?^-->$", re.MULTILINE | re.DOTALL),
    generated_header.BLOCK,
    FENCE,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^\*\*Made at .*$", re.MULTILINE),  # generated_header.BEHIND
    re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL),
    re.compile(r"(?<=\])\([^)\s]*\)"),
    re.compile(r"https?://\S+"),
    re.compile(r"\b[\w.-]*/[\w./*-]+|\b[\w-]+\.(?:md|cc|h|py|ts|yaml|csv|json)\b"),
)
PARAGRAPH_END = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*|#]|\d+\.)[ \t|#]?)")


def blank(found):
    """White space of the same length, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", found.group(0))


def markdown_blocks(text):
    for pattern in NOT_PROSE:
        text = pattern.sub(blank, text)
    begin = 0
    for end in [*(found.start() for found in PARAGRAPH_END.finditer(text)), len(text)]:
        part = text[begin:end]
        if part.strip():
            yield Block(text.count("\n", 0, begin) + 1, DOCS, part)
        begin = end


# --- C++, CUDA and TypeScript

C_TOKEN = re.compile(r"""
    (?P<include>^[ \t]*\#[ \t]*include[^\n]*)
  | (?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)
  | (?P<raw>R"(?P<end>\w*)\(.*?\)(?P=end)")
  | (?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*|`(?:\\.|[^`\\])*`)
  | (?P<character>'(?:\\.|[^'\\\n])*')
""", re.VERBOSE | re.MULTILINE | re.DOTALL)
COMMENT_SIGN = re.compile(r"^[ \t]*(?://[/!<]*|/?\*+/?)[ \t]?", re.MULTILINE)


def c_blocks(text):
    line, counted = 1, 0
    for found in C_TOKEN.finditer(text):
        line, counted = line + text.count("\n", counted, found.start()), found.start()
        if found.group("comment"):
            yield comment(line, COMMENT_SIGN.sub("", found.group(0)))
        elif found.group("string") or found.group("raw"):
            yield from message(line, re.sub(r'"(\s*)"', r"\1", found.group(0)).strip('"`'))


CODE_IN_COMMENT = re.compile(r"`[^`]+`")
NOT_A_MESSAGE = re.compile(r"(?=.*_)[a-z_]+(?:,\s+[a-z_]+)+$|.*\b(?:TABLE|UPDATE|DELETE FROM|SELECT)\s|.*\b(?:substr|zeroblob)\(", re.DOTALL)


def comment(line, text):
    """Names of the code in backticks are no words of a comment."""
    return Block(line, COMMENTS, CODE_IN_COMMENT.sub(lambda found: re.sub(r"\S", "`", found.group(0)), text.strip()))


def message(line, text):
    """A string is a message if it has a blank between words; a key, a name, a list of columns and SQL are not."""
    if re.search(r"\w,? \S", text) and not NOT_A_MESSAGE.match(text):
        yield Block(line, MESSAGES, text)


# --- Python

PYTHON_TOKEN = re.compile(r"""
    (?P<comment>\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)
  | (?P<begin>^[ \t]*)?(?P<prefix>\b[A-Za-z]{1,2})?(?P<quotes>\"{3}|'{3}|"|')(?P<text>(?:\\.|(?!(?P=quotes)).)*)(?P=quotes)
""", re.VERBOSE | re.MULTILINE | re.DOTALL)


def python_blocks(text):
    line, counted = 1, 0
    for found in PYTHON_TOKEN.finditer(text):
        line, counted = line + text.count("\n", counted, found.start()), found.start()
        if found.group("comment"):
            yield comment(line, re.sub(r"^[ \t]*#+!?[ \t]?", "", found.group(0), flags=re.MULTILINE))
        elif found.group("begin") is not None and len(found.group("quotes")) == 3:
            yield comment(line, found.group("text"))
        else:
            is_format = "f" in (found.group("prefix") or "").lower()
            yield from message(line, re.sub(r"\{[^{}]*\}", blank, found.group("text")) if is_format else found.group("text"))


READERS = {".md": markdown_blocks, ".py": python_blocks,
           **dict.fromkeys((".h", ".cc", ".cu", ".cuh", ".ts", ".mjs"), c_blocks)}


def places_in(path, text, rules):
    """All places in a file, in order of lines; `path` says how it is read."""
    found_at = []
    for block in READERS[pathlib.PurePath(path).suffix](text):
        for rule in rules:
            if block.kind not in rule.where:
                continue
            for found in rule.pattern.finditer(block.text):
                line = block.line + block.text.count("\n", 0, found.start())
                found_at.append(Place(path, line, " ".join(found.group(0).split()), rule.instead))
    return sorted(found_at, key=lambda place: place.line)


def checked_files(root):
    paths = [path for path in root.iterdir() if path.is_file()]
    for folder in FOLDERS:
        paths += [path for path in (root / folder).rglob("*") if not SKIPPED_FOLDERS & set(path.parts)]
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        if path.suffix in READERS and path.is_file() and name not in NOT_CHECKED:
            yield name


def is_covered(name):
    return any(fnmatch.fnmatch(name, pattern) for pattern in COVERED)


def folder_of(name):
    return "/".join(name.split("/")[:2]) if name.startswith("orrery/") else name.split("/")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--show", nargs="+", default=[], metavar="PATTERN", help="list the places in files that are not covered yet")
    parser.add_argument("paths", nargs="*", help="relative to the root; default: all files")
    options = parser.parse_args()
    rules = read_rules(options.root / "tools" / "words.csv")
    bad, left = 0, collections.Counter()
    for name in options.paths or checked_files(options.root):
        places = places_in(name, (options.root / name).read_text(encoding="utf-8", errors="replace"), rules)
        is_shown = any(fnmatch.fnmatch(name, pattern) for pattern in options.show)
        if is_covered(name) or is_shown:
            for place in places:
                print(place)
        if is_covered(name):
            bad += len(places)
        elif places:
            left[folder_of(name)] += len(places)
    if left:
        print(f"not covered yet: {sum(left.values())} places: "
              + ", ".join(f"{folder} {count}" for folder, count in sorted(left.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
