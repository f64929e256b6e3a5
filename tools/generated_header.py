"""The comment at the beginning of a generated document: which command makes it, and how a stale one is found.

    <!-- generated
    command: tools/validate.py network --program build/orrery --write docs/validation/network.md
    check: inputs
    input: data/models/collectives.yaml
    sentinel: orrery validate
    digest: 0123456789abcdef
    minutes: 4
    -->

`command` (one or more), `input` (a path or pattern, from the root) and `sentinel` (a quick command whose output changes when the
program's answers do) may be repeated. `check` is one of
  output    the commands are run again and must write the same document, except for run times and the blocks that `except` names
  inputs    for what takes more than a minute: inputs, sentinels and the text of the generated blocks must have the digest that was noted when
            it was written
  measured  speeds of a machine: not checked, but `machine` and `version` say of what

`behind: VERSION` is of a document with check: inputs whose commands have not been run since a change of its numbers: the check names it and
goes on, as long as the document itself tells its readers so (BEHIND, with that version). Running the commands takes it away.
"""

import dataclasses
import hashlib
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- generated\n", "-->\n"
CHECKS = ("output", "inputs", "measured")
LISTS = ("command", "input", "sentinel", "except")
SINGLE = ("check", "digest", "minutes", "machine", "version", "behind")
REQUIRED = {"output": ("command",), "inputs": ("command", "input", "digest"), "measured": ("command", "machine", "version")}
BEHIND = "**Made at {}; predictions have changed since, and these values have not been regenerated.**"
BLOCK = re.compile(r"<!-- ([^>\n]+), made by [^>\n]+ -->\n(.*?)<!-- end -->", re.DOTALL)


class HeaderError(Exception):
    """One sentence about a comment that is not right."""


@dataclasses.dataclass
class Header:
    fields: dict  # lists of words by key

    def all(self, key):
        return self.fields.get(key, [])

    def one(self, key):
        return self.fields.get(key, [""])[0]

    def text(self):
        lines = [f"{key}: {value}" for key, values in self.fields.items() for value in values]
        return BEGIN + "\n".join(lines) + "\n" + END


def parse(text):
    """The header of a document and what follows it; None where it has none."""
    if not text.startswith(BEGIN):
        return None, text
    body, _, rest = text[len(BEGIN):].partition(END)
    fields = {}
    for line in body.splitlines():
        key, colon, value = line.partition(": ")
        if not colon or key not in LISTS + SINGLE or (key in SINGLE and key in fields):
            raise HeaderError(f"'{line}' is no line of a header")
        fields.setdefault(key, []).append(value.strip())
    check = fields.get("check", [""])[0]
    if check not in CHECKS:
        raise HeaderError(f"check is '{check}' instead of one of {', '.join(CHECKS)}")
    missing = [key for key in REQUIRED[check] if key not in fields]
    if missing:
        raise HeaderError(f"check: {check} needs {', '.join(missing)}")
    return Header(fields), rest


def with_field(header, key, value):
    return Header({**header.fields, key: [value]})


def without_field(header, key):
    return Header({other: values for other, values in header.fields.items() if other != key})


def needs_shared(words):
    return any("../shared" in word for word in words)


def input_files(patterns, root=ROOT):
    """Files of patterns, in order; an error for a pattern without any."""
    for pattern in patterns:
        base, parts = (root.parent, pattern[3:]) if pattern.startswith("../") else (root, pattern)
        found = sorted(path for path in base.glob(parts) if path.is_file())
        if not found:
            raise HeaderError(f"no file is called {pattern}")
        yield from found


def digest(header, body, run, root=ROOT):
    """Of the inputs, of what sentinels print, and of the generated blocks, so that no number is changed by hand."""
    sums = hashlib.sha256()
    for path in input_files(header.all("input"), root):
        sums.update(os.path.relpath(path, root).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    for command in header.all("sentinel"):
        answer = "\n".join(run(command))
        if not answer:
            raise HeaderError(f"the sentinel '{command}' prints nothing")
        sums.update(command.encode() + b"\0" + answer.encode())
    for name, block in BLOCK.findall(body):
        sums.update(name.encode() + b"\0" + block.encode())
    return sums.hexdigest()[:16]


def run_in_place(command, program):
    """Runs a command that writes a document; an error where it fails."""
    words = command.replace("build/orrery", str(program))
    done = subprocess.run(["bash", "-c", words], cwd=ROOT, check=False, capture_output=True, text=True)
    # 1: a target is missed, which the document says; 3: a partial result; 4: a job does not fit.
    if done.returncode not in (0, 1, 3, 4):
        raise HeaderError(f"'{command}' ended with {done.returncode}: {done.stderr.strip()[-300:]}")
