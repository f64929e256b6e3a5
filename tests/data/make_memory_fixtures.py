#!/usr/bin/env python3
"""Writes the synthetic memory recordings under tests/data: event streams, PyTorch snapshots and a
rocprofv3 database.

    tests/data/make_memory_fixtures.py [--output tests/data]

Streams are written from the table of records in docs/formats/orrs.md, independently of Orrery's C++,
so that reading them also tests that document. Snapshots are written by Python's own pickle. The
database is the recording of tests/data/rocprofv3/run in rocpd's third schema. The same call gives the same bytes.
"""

import argparse
import os
import pathlib
import pickle
import re
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from orrs_writer import file_header, sealed_chunk, varint, zigzag  # noqa: E402

RECORD_ROW = re.compile(r"^\| (\d+) \w+ \| (\d+) \| `(\w+)` \| (.*) \|$")
FIELD = re.compile(r"`(\w+)` (\S+?)(?:,|$)")
EXACT, BY_ARGUMENT = 1, 2
READ, WRITE = 1, 2
ENDED = 9


def read_schema():
    """Returns name -> (chunk, kind, [(field, encoding)]) from the document."""
    schema = {}
    for line in (ROOT / "docs" / "formats" / "orrs.md").read_text().splitlines():
        row = RECORD_ROW.match(line)
        if row:
            schema[row[3]] = (int(row[1]), int(row[2]), FIELD.findall(row[4]))
    return schema


class Chunk:
    """Records of one chunk type; fields of later ones are relative to the previous."""

    def __init__(self, schema, kind, first_sequence=0):
        self.schema, self.kind, self.first_sequence = schema, kind, first_sequence
        self.before = {"sequence": first_sequence}
        self.payload, self.num_records = b"", 0

    def add(self, record, **values):
        chunk, number, fields = self.schema[record]
        assert chunk == self.kind and not set(values) - {name for name, _ in fields}, record
        encoded = [self.encode(values.get(name), how) for name, how in fields]
        while encoded and encoded[-1][1]:
            encoded.pop()
        body = varint(number) + b"".join(piece for piece, _ in encoded)
        self.payload += varint(len(body)) + body
        self.num_records += 1
        return self

    def encode(self, value, how):
        """Returns the bytes of a field, and whether it may be omitted at the end."""
        if how.startswith("Δ"):
            before = self.before.get(how[1:], 0)
            value = value or 0
            self.before[how[1:]] = value
            return zigzag(value - before), value == before
        if how == "m":
            return (b"\0", True) if value is None else (varint(value + 1), False)
        if how == "text":
            text = (value or "").encode() if not isinstance(value, bytes) else value
            return varint(len(text)) + text, not text
        if how == "list":
            numbers = value or []
            return varint(len(numbers)) + b"".join(map(varint, numbers)), not numbers
        value = value or 0
        return (zigzag(value) if how == "s" else varint(value)), value == 0

    def sealed(self):
        return sealed_chunk(self.kind, self.first_sequence, self.num_records, self.payload)


def training_stream(schema, rank, has_end=True):
    """Two launches with a tensor between them, one of them skipped by sampling, and a memcpy."""
    def chunk(kind, first=0):
        return Chunk(schema, kind, first)

    header = chunk(1).add("Process", producer="make_memory_fixtures", process=42 + rank, rank=rank,
                          world_size=2, time_origin=1, driver="580.0", toolkit="13.0")
    header.add("Device", device=0, name="NVIDIA H200", memory_bytes=1 << 37, multiprocessors=132,
               compute_major=9, compute_minor=0)
    strings = chunk(2)
    names = ["add_kernel", "gemm_kernel", "aten::add", "sampled out", "train.py:7"]
    for number, text in enumerate(names, start=1):
        strings.add("String", id=number, text=text)
    functions = chunk(5).add("Function", id=1, name=1).add("Function", id=2, name=2)
    events = chunk(6, 1)
    events.add("Allocation", sequence=1, time_ns=1000, thread=7, object=1, address=0x7F0000000000,
               bytes=2 << 20, level=1)
    events.add("OperatorBegin", sequence=2, time_ns=1100, thread=7, name=3)
    events.add("Allocation", sequence=3, time_ns=1150, thread=7, object=2, address=0x7F0000000000,
               bytes=4096, level=2, stack=1, requested_bytes=4000, total_allocated_bytes=4096,
               total_reserved_bytes=2 << 20)
    events.add("Launch", sequence=4, time_ns=1200, thread=7, function=1, grid_x=4, grid_y=1,
               grid_z=1, block_x=256, block_y=1, block_z=1, coverage=EXACT, duration_ns=50)
    events.add("OperatorEnd", sequence=5, time_ns=1300, thread=7, begin=2)
    events.add("Launch", sequence=6, time_ns=1400, thread=7, function=2, grid_x=2, grid_y=2,
               grid_z=1, block_x=128, block_y=1, block_z=1, duration_ns=80, reason=4,
               inclusion_ppb=100_000_000)
    events.add("Copy", sequence=7, time_ns=1500, thread=7, source=0x7F0000000000,
               destination=0x1000, width_bytes=4096, kind=2, duration_ns=20)
    events.add("Free", sequence=8, time_ns=1600, thread=7, object=2, level=2,
               total_allocated_bytes=0, total_reserved_bytes=2 << 20)
    stacks = chunk(3).add("Stack", id=1, frames=[5])
    touches = chunk(8).add("Touch", launch=4, object=2, read_bytes=2048, write_bytes=2048,
                           sectors=128, lanes=1024, warps=32)
    touches.add("PageTouch", launch=4, object=2, page_bytes=4096, first_page=0x7F0000000, form=2,
                numbers=[1024])
    arguments = chunk(9).add("LaunchArgument", launch=6, object=2, address=0x7F0000000000, offset=8)
    accesses = chunk(10).add("WarpAccess", launch=4, address=0x7F0000000000, pc=16, access_bytes=4,
                             flags=READ, form=1, stride=4)
    coverage = chunk(11).add("CoverageCount", kind=2, name="sampled out", count=1, device=0)
    if has_end:
        coverage.add("CoverageCount", kind=ENDED)
    cost = chunk(12).add("Overhead", phase=1, total_ns=300, count=1, bytes=4096)
    cost.add("Overhead", phase=5, total_ns=400)
    parts = [header, strings, functions, stacks, events, touches, arguments, accesses, cost,
             coverage]
    return file_header() + b"".join(part.sealed() for part in parts)


def stacks_stream(schema):
    """Launches with call stacks: one kernel twice, from two call sites, and another once."""
    header = Chunk(schema, 1).add("Process", producer="make_memory_fixtures", process=42, time_origin=1)
    names = ["void add<float>(float*)", "layer_norm", "launch (libtorch_cuda.so+0x1a2b)", "model.py:12 forward",
             "model.py:31 attention", "train.py:7 step"]
    strings = Chunk(schema, 2)
    for number, text in enumerate(names, start=1):
        strings.add("String", id=number, text=text)
    functions = Chunk(schema, 5).add("Function", id=1, name=1).add("Function", id=2, name=2)
    stacks = Chunk(schema, 3).add("Stack", id=1, language=1, frames=[3, 4, 6])
    stacks.add("Stack", id=2, language=1, frames=[3, 5, 6])
    events = Chunk(schema, 6, 1).add("Allocation", sequence=1, time_ns=1000, object=1, address=0x7F0000000000, bytes=4096)
    touches = Chunk(schema, 8)
    for number, (function, stack, lanes) in enumerate(((1, 1, 64), (2, 1, 160), (1, 2, 128)), start=2):
        events.add("Launch", sequence=number, time_ns=1000 * number, function=function, coverage=EXACT, stack=stack)
        touches.add("Touch", launch=number, object=1, read_bytes=4 * lanes, sectors=lanes // 8, lanes=lanes,
                    warps=lanes // 32)
    coverage = Chunk(schema, 11).add("CoverageCount", kind=ENDED)
    parts = [header, strings, functions, stacks, events, touches, coverage]
    return file_header() + b"".join(part.sealed() for part in parts)


def write_streams(folder):
    schema = read_schema()
    folder.mkdir(parents=True, exist_ok=True)
    whole = training_stream(schema, 0)
    (folder / "whole.orrs").write_bytes(whole)
    (folder / "stacks.orrs").write_bytes(stacks_stream(schema))
    (folder / "torn.orrs").write_bytes(whole[:-20])
    (folder / "killed.orrs").write_bytes(training_stream(schema, 0, has_end=False))
    (folder / "newer.orrs").write_bytes(file_header(2, 0) + whole[16:])
    unknown = Chunk(schema, 77)
    (folder / "later_minor.orrs").write_bytes(file_header(1, 3) + whole[16:] + unknown.sealed())
    ranks = folder / "two_ranks"
    ranks.mkdir(exist_ok=True)
    for rank in range(2):
        (ranks / f"process_{42 + rank}.orrs").write_bytes(training_stream(schema, rank))


class Allocator:
    """A caching allocator of one segment that keeps its history as PyTorch does."""

    def __init__(self, frames):
        self.frames, self.entries, self.blocks, self.time_us = frames, [], {}, 1_700_000_000_000_000

    def note(self, action, address, size, **more):
        self.time_us += 10
        self.entries.append({"action": action, "addr": address, "size": size, "stream": 0,
                             "time_us": self.time_us, "frames": self.frames, **more})

    def alloc(self, address, size):
        self.blocks[address] = size
        self.note("alloc", address, size)

    def free(self, address):
        self.note("free_requested", address, self.blocks[address])
        self.note("free_completed", address, self.blocks.pop(address))


def snapshot(num_kept=None):
    """Weights that stay, activations that come and go, an out-of-memory, an annotation."""
    frames = [{"filename": "model.py", "line": 12, "name": "forward"},
              {"filename": "train.py", "line": 3, "name": "main"}]
    allocator = Allocator(frames)
    base, segment = 0x7F2000000000, 4 << 20
    allocator.note("segment_alloc", base, segment)
    allocator.alloc(base, 1 << 20)
    begin_us = allocator.time_us
    for layer in range(3):
        allocator.alloc(base + (1 << 20) + layer * 4096, 1000 + layer)
    for layer in (2, 0):
        allocator.free(base + (1 << 20) + layer * 4096)
    allocator.entries.append({"action": "oom", "device_free": 1024, "size": 1 << 30, "stream": 0,
                              "time_us": allocator.time_us + 5, "frames": frames})
    blocks = [{"address": address, "size": -(-size // 512) * 512, "requested_size": size,
               "state": "active_allocated", "frames": frames}
              for address, size in sorted(allocator.blocks.items())]
    marks = [{"device": 0, "stage": stage, "name": "step", "time_us": time_us}
             for stage, time_us in (("START", begin_us), ("END", allocator.time_us))]
    return {"segments": [{"device": 0, "address": base, "total_size": segment, "stream": 0,
                          "allocated_size": sum(block["size"] for block in blocks),
                          "segment_type": "large", "segment_pool_id": (0, 0),
                          "is_expandable": False, "frames": frames, "blocks": blocks}],
            "device_traces": [allocator.entries[-num_kept:] if num_kept else allocator.entries],
            "allocator_settings": {"expandable_segments": False, "max_split_size": -1},
            "external_annotations": marks}


class Hostile:
    def __reduce__(self):
        return os.system, ("touch executed",)


def write_snapshots(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for protocol in range(2, 6):
        (folder / f"whole.protocol{protocol}.pickle").write_bytes(pickle.dumps(snapshot(), protocol))
    (folder / "ring.pickle").write_bytes(pickle.dumps(snapshot(num_kept=4), 4))
    (folder / "hostile.pickle").write_bytes(pickle.dumps({**snapshot(), "extra": Hostile()}, 4))
    (folder / "other.pickle").write_bytes(pickle.dumps({"weights": [1.5, None, b"x"]}, 4))


ROCPD_GUID = "0000c0de-0000-4000-8000-000000000908"
ROCPD_TABLES = {
    "rocpd_metadata": "tag, value",
    "rocpd_string": "string",
    "rocpd_info_node": "hostname",
    "rocpd_info_process": "pid, command",
    "rocpd_info_agent": "type, logical_index, name, product_name",
    "rocpd_info_kernel_symbol": "kernel_name, display_name, arch_vgpr_count",
    "rocpd_event": "category_id, stack_id, extdata",
    "rocpd_region": "pid, tid, start, end, name_id, event_id",
    "rocpd_kernel_dispatch":
        "pid, tid, agent_id, kernel_id, queue_id, stream_id, start, end, group_segment_size, "
        "workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, "
        "grid_size_z, event_id",
    "rocpd_memory_copy":
        "pid, tid, start, end, name_id, dst_agent_id, src_agent_id, size, stream_id, event_id",
    "rocpd_memory_allocate":
        "pid, tid, agent_id, type, level, start, end, address, size, event_id",
}


class Rocpd:
    """A rocprofv3 database with the columns that a reader uses, and its views by name."""

    def __init__(self):
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.database.execute("PRAGMA page_size=512")
        self.suffix = "_" + ROCPD_GUID.replace("-", "_")
        self.strings = {}
        for table, columns in ROCPD_TABLES.items():
            quoted = ", ".join(f'"{column.strip()}"' for column in columns.split(","))
            self.database.execute(f'CREATE TABLE "{table}{self.suffix}" (id INTEGER PRIMARY KEY, '
                                  f"{quoted})")
            self.database.execute(f'CREATE VIEW "{table}" AS SELECT * FROM "{table}{self.suffix}"')

    def add(self, table, *values, number=None):
        marks = ", ".join("?" * (len(values) + 1))
        cursor = self.database.execute(f'INSERT INTO "{table}{self.suffix}" VALUES ({marks})',
                                       (number, *values))
        return cursor.lastrowid

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = self.add("rocpd_string", text)
        return self.strings[text]

    def event(self, category, correlation, extra="{}"):
        return self.add("rocpd_event", self.string(category), correlation, extra)

    def bytes(self):
        """The content without the version of SQLite that wrote it (byte 96 of the header)."""
        content = bytearray(self.database.serialize())
        content[96:100] = bytes(4)
        return bytes(content)


def rocpd_database():
    """The content of the tables under tests/data/rocprofv3/run, two calls and a marker."""
    rocpd = Rocpd()
    rocpd.add("rocpd_metadata", "schema_version", "3")
    rocpd.add("rocpd_info_node", "node")
    rocpd.add("rocpd_info_process", 908, "python train.py", number=908)
    rocpd.add("rocpd_info_agent", "CPU", 0, "EPYC", "AMD EPYC 9575F", number=0)
    rocpd.add("rocpd_info_agent", "GPU", 2, "gfx950", "AMD Instinct MI350X", number=2)
    add = "void add<float, 4>(float*, int)"
    rocpd.add("rocpd_info_kernel_symbol", "_Z3addIfLi4EEvPfi", add, 24, number=16)
    rocpd.add("rocpd_info_kernel_symbol", "Cijk_Ailk_Bljk_SB", "Cijk_Ailk_Bljk_SB", 128, number=17)
    for correlation, begin, end, category, name, extra in (
            (4, 1160, 1170, "HIP_RUNTIME_API", "hipLaunchKernel", "{}"),
            (5, 1180, 1190, "HIP_RUNTIME_API", "hipModuleLaunchKernel", "{}"),
            (9, 1090, 1600, "MARKER_CORE_API", "roctxRangePushA", '{"message": "step 1"}')):
        rocpd.add("rocpd_region", 908, 15, begin, end, rocpd.string(name),
                  rocpd.event(category, correlation, extra))
    for correlation, kernel, begin, end, shared, grid in ((4, 16, 1200, 1260, 0, (1000, 1, 1)),
                                                          (5, 17, 1300, 1500, 16384, (65536, 4, 1))):
        rocpd.add("rocpd_kernel_dispatch", 908, 15, 2, kernel, 3, 5, begin, end, shared, 256, 1, 1,
                  *grid, rocpd.event("KERNEL_DISPATCH", correlation))
    rocpd.add("rocpd_memory_copy", 908, 15, 1100, 1150, rocpd.string("MEMORY_COPY_HOST_TO_DEVICE"),
              2, 0, 4096, 5, rocpd.event("MEMORY_COPY", 3))
    for correlation, agent, kind, begin, end, address, size in (
            (1, 2, "ALLOC", 1000, 1040, 0x7F0000000000, 2 << 20),
            (2, 0, "ALLOC", 1050, 1060, 0x7E0000000000, 4096),
            (7, None, "FREE", 1900, 1910, 0, 0),
            (8, None, "FREE", 2000, 2030, 0x7F0000000000, 0)):
        rocpd.add("rocpd_memory_allocate", 908, 15, agent, kind, "REAL", begin, end, address, size,
                  rocpd.event("MEMORY_ALLOCATION", correlation))
    rocpd.add("rocpd_memory_allocate", 908, 15, 2, "ALLOC", "SCRATCH", 1310, 1320, 0x1000, 64,
              rocpd.event("SCRATCH_MEMORY", 5))
    return rocpd.bytes()


def write_rocpd(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "908_results.db").write_bytes(rocpd_database())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "tests" / "data")
    output = parser.parse_args().output
    write_streams(output / "orrs")
    write_snapshots(output / "torch_snapshot")
    write_rocpd(output / "rocprofv3" / "rocpd")


if __name__ == "__main__":
    main()
