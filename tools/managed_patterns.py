"""The experiments of capture/measure_managed as event streams, for the managed memory simulator."""

import json
import pathlib
import tempfile

import validation
from orrs_writer import file_header, sealed_chunk, varint, zigzag

PAGE, BLOCK = 4096, 2 << 20
PAGES_PER_BLOCK = BLOCK // PAGE
SEGMENT, SEGMENT_CLASS, EXACT, RUNS = 1, 4, 1, 1
ADDRESS = 1 << 40
GPU = "NVIDIA H200"


def rows(path):
    """(the machine, its experiments)."""
    lines = [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    return lines[0], lines[1:]


def page_order(row):
    """As PageOrder in capture/managed/experiment.cc; a stream is all pages in order."""
    blocks, each = row["blocks"], row["pages_per_block"]
    if blocks == 0:
        return range(row["bytes"] // PAGE)
    if row["order"] == "sequential":
        return [block * PAGES_PER_BLOCK + page for block in range(blocks) for page in range(each)]
    return [i % blocks * PAGES_PER_BLOCK + (i // blocks * 197 + i % blocks * 61) % PAGES_PER_BLOCK
            for i in range(blocks * each)]


def runs_of(pages):
    """[(first page, count)] of adjacent pages."""
    runs = []
    for page in pages:
        if runs and page == runs[-1][0] + runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([page, 1])
    return runs


def _text(value):
    return varint(len(value)) + value.encode()


class Stream:
    """A chunk for each record, so that all differences count from zero."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(file_header())
        self.sequence = 0
        self._record(2, 1, varint(1), _text("kernel"))
        self._record(1, 2, varint(0), _text(GPU))
        self._record(5, 1, varint(1), varint(0), varint(1))

    def _record(self, chunk, kind, *fields, sequence=0):
        body = varint(kind) + b"".join(fields)
        self.file.write(sealed_chunk(chunk, sequence, 1, varint(len(body)) + body))

    def _event(self, kind, *fields):
        self.sequence += 1
        self._record(6, kind, zigzag(0), zigzag(100 * self.sequence), varint(1), *fields, sequence=self.sequence)
        return self.sequence

    def memory(self, number, address, size, is_written):
        if is_written:
            self._record(7, 1, zigzag(number), zigzag(address), varint(size), varint(SEGMENT_CLASS))
        else:
            self._event(3, zigzag(number), zigzag(address), varint(size), varint(SEGMENT))

    def launch(self, duration_ns):
        return self._event(7, varint(1), *[varint(0)] * 4, *[varint(1)] * 6, varint(EXACT), varint(duration_ns + 1))

    def touch(self, launch, number, size):
        self._record(8, 1, zigzag(launch), zigzag(number), varint(size))

    def pages(self, launch, number, first, count):
        self._record(8, 2, zigzag(launch), zigzag(number), varint(PAGE), varint(ADDRESS // PAGE + first), varint(RUNS),
                     varint(0), varint(2), varint(0), varint(count))

    def close(self):
        self._record(11, 1, varint(9))
        self.file.close()


def span_bytes(row):
    return row["blocks"] * BLOCK or row["bytes"]


def write_faults(row, path, duration_ns):
    """One kernel that touches the pages of the experiment in its order."""
    stream = Stream(path)
    stream.memory(1, ADDRESS, span_bytes(row), row["backing"] == "written")
    launch = stream.launch(duration_ns)
    stream.touch(launch, 1, span_bytes(row))
    for first, count in runs_of(page_order(row)):
        stream.pages(launch, 1, first, count)
    stream.close()


def write_prefetch(row, path, duration_ns):
    """One kernel that touches one object per call."""
    stream = Stream(path)
    size = row["bytes"] // row["calls"]
    apart = -(-size // BLOCK) * BLOCK
    for call in range(row["calls"]):
        stream.memory(call + 1, ADDRESS + call * apart, size, row["backing"] == "written")
    launch = stream.launch(duration_ns)
    for call in range(row["calls"]):
        stream.touch(launch, call + 1, size)
    stream.close()


def play(program, path):
    """{policy: its row} with memory for all."""
    answer = validation.run_json(program, "memory", path, "--tool", "uvm", "--repeat", "1", "--oversubscription", "1",
                                 "--lookahead", "0")
    table = {}
    for row in answer["tables"]["policies"]:
        table.setdefault(row["policy"], row)
    return table


def played(program, row, write, duration_ns):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pattern.orrs"
        write(row, path, duration_ns)
        return play(program, path)
