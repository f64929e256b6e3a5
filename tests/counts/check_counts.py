#!/usr/bin/env python3
"""Compares what `orrery info --json` counts with counts taken in plain Python.

    tests/counts/check_counts.py --program build/orrery --shared ../shared FORMAT

FORMAT is kineto, execution_trace, nsys, nccl_tests, xplane, rocprofv3, torch_memory_timeline,
torch_snapshot or orrs. Files are samples of our own (tests/data) and, where ../shared is, those of other tools
there. Nothing of Orrery is used to count: only json, gzip, pickle, sqlite3 and regular expressions, so that a
mistake of a reader shows. Exit status: 0 all equal, 1 some differ.
"""

import argparse
import collections
import csv
import gzip
import json
import pathlib
import pickle
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile

KINETO_COUNTS = {
    "kernel": "kernels", "Kernel": "kernels",
    "gpu_memcpy": "copies", "Memcpy": "copies",
    "gpu_memset": "sets", "Memset": "sets",
    "cpu_op": "host_ops", "Operator": "host_ops",
    "user_annotation": "annotations", "gpu_user_annotation": "device_annotations",
    "python_function": "python_functions", "Python": "python_functions",
    "Runtime": "runtime_calls", "cuda_runtime": "runtime_calls", "cuda_driver": "runtime_calls",
    "mtia_runtime": "runtime_calls", "glow_runtime": "runtime_calls",
    "xpu_runtime": "runtime_calls", "xpu_driver": "runtime_calls",
    "privateuse1_runtime": "runtime_calls", "privateuse1_driver": "runtime_calls",
}

COLLECTIVE_WORDS = ("reduce", "gather", "scatter", "broadcast", "alltoall", "all_to_all", "send",
                    "recv", "barrier")

NSYS_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernels",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "copies",
    "CUPTI_ACTIVITY_KIND_MEMSET": "sets",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "runtime_calls",
}

# size count type redop [root], then twice: time algbw busbw wrong.
NCCL_ROW = re.compile(
    r"(?:^|[:\s])\d+\s+\d+\s+[a-z]\w*\s+\w+(?:\s+-?\d+)?"
    r"(?:\s+[\d.e+]+\s+[\d.]+\s+[\d.]+\s+(?:N/A|[\d.e+-]+)){2}\s*$")


def read_bytes(path):
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def is_communication_kernel(name):
    lower = name.lower()
    return "nccl" in lower or "rccl" in lower


def c10d_calls(names):
    """Counts collective operators of torch.distributed.

    A functional operator calls the c10d operator of the same work, so only one kind is counted.
    """
    for prefix in ("c10d::", "_c10d_functional::"):
        calls = sum(1 for name in names if name.startswith(prefix)
                    and any(word in name for word in COLLECTIVE_WORDS))
        if calls:
            return calls
    return 0


def encloses(outer, inner):
    return (outer["pid"], outer["tid"]) == (inner["pid"], inner["tid"]) and (
        outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"])


def kineto_communication_calls(host_rows):
    """Counts collective calls on the host.

    Before 2024 record_param_comms does not say what it is; the annotation nccl:NAME inside it does,
    and a wait has none.
    """
    records = [row for row in host_rows if row["name"] == "record_param_comms"]
    marks = [row for row in host_rows if row["name"].startswith("nccl:")]
    calls = 0
    for record in records:
        name = record.get("args", {}).get("Collective name")
        if name:
            calls += name != "wait"
        else:
            calls += any(encloses(record, mark) for mark in marks)
    return calls or c10d_calls(row["name"] for row in host_rows)


def count_kineto(path):
    document = json.loads(read_bytes(path))
    counts = collections.Counter()
    communication_kernels = 0
    host_rows = []
    for event in document["traceEvents"] if isinstance(document, dict) else document:
        category, name = event.get("cat"), str(event.get("name", ""))
        counts["memory_events"] += name == "[memory]"
        if event.get("ph") != "X":
            continue
        if category in KINETO_COUNTS:
            counts[KINETO_COUNTS[category]] += 1
        if category in ("kernel", "Kernel"):
            communication_kernels += is_communication_kernel(name)
        if category in ("cpu_op", "user_annotation"):
            host_rows.append(event)
    counts["collectives"] = communication_kernels or kineto_communication_calls(host_rows)
    keys = (*dict.fromkeys(KINETO_COUNTS.values()), "memory_events", "collectives")
    return {key: counts[key] for key in keys}


def node_attributes(node):
    nested = {attribute["name"]: attribute["value"] for attribute in node.get("attrs", [])}
    return {**node, **nested}


def is_wait(node):
    inputs = node.get("inputs", [])
    values = inputs["values"] if isinstance(inputs, dict) else inputs
    return node_attributes(node).get("collective_name") == "wait" or "wait" in values


def is_operator(node):
    is_root = "[pytorch|profiler|execution" in node["name"]
    return not is_root and "ph" not in node and node_attributes(node).get("scope") != 7


def count_execution_trace(path):
    nodes = json.loads(read_bytes(path))["nodes"]
    calls = sum(1 for node in nodes if node["name"] == "record_param_comms" and not is_wait(node))
    return {
        "host_ops": sum(1 for node in nodes if is_operator(node)),
        "collectives": calls or c10d_calls(node["name"] for node in nodes),
    }


def count_nsys(path):
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as plain:
        plain.write(read_bytes(path))
        plain.flush()
        return count_nsys_tables(sqlite3.connect(f"file:{plain.name}?mode=ro", uri=True))


def count_nsys_tables(database):
    tables = {name for (name,) in database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'")}
    counts = {}
    for table, key in NSYS_TABLES.items():
        counts[key] = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] \
            if table in tables else 0
    counts["collectives"] = database.execute(
        "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName "
        "WHERE lower(value) LIKE '%nccl%'").fetchone()[0] \
        if "CUPTI_ACTIVITY_KIND_KERNEL" in tables else 0
    return counts


def count_nccl_tests(path):
    lines = read_bytes(path).decode(errors="replace").splitlines()
    return {"rows": sum(1 for line in lines if NCCL_ROW.search(line))}


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def protobuf_fields(message):
    """Yields (number, value) of a protobuf message; texts and messages are bytes."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        if tag & 7 == 0:
            value, at = varint(message, at)
        else:
            length, at = varint(message, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value = message[at:at + length]
            at += length
        yield tag >> 3, value


def protobuf_all(message, number):
    return [value for field, value in protobuf_fields(message) if field == number]


def protobuf_first(message, number, otherwise=b""):
    return next((value for field, value in protobuf_fields(message) if field == number), otherwise)


def protobuf_map(message, number):
    """Returns the values of a map field by their keys."""
    return {protobuf_first(entry, 1, 0): protobuf_first(entry, 2)
            for entry in protobuf_all(message, number)}


def xplane_row_kind(is_device, line, event, kind, stat_names):
    """Returns what an event counts as, of the keys of the counts."""
    name = protobuf_first(kind, 2).decode(errors="replace")
    if not is_device:
        stats = {stat_names.get(protobuf_first(stat, 1, 0)) for stat in protobuf_all(event, 4)}
        return "runtime_calls" if b"correlation_id" in stats else "annotations"
    if "Stream" in line:
        is_copy = name.startswith(("Memcpy", "__amd_rocclr_copyBuffer"))
        is_set = name.startswith(("Memset", "__amd_rocclr_fillBuffer"))
        return "copies" if is_copy else "sets" if is_set else "kernels"
    if line not in ("XLA Ops", "Async XLA Ops"):
        return "device_annotations"
    categories = [protobuf_first(stat, 5).decode() for stat in protobuf_all(kind, 5)
                  if stat_names.get(protobuf_first(stat, 1, 0)) == b"hlo_category"]
    category = categories[0] if categories else name
    if category.endswith(("-start", "-done")) and line == "XLA Ops":
        return category
    return "copies" if category.startswith("copy") else "kernels"


def count_xplane_plane(plane):
    counts = collections.Counter()
    kinds = protobuf_map(plane, 4)
    stat_names = {key: protobuf_first(value, 2) for key, value in protobuf_map(plane, 5).items()}
    is_device = b"/device:" in protobuf_first(plane, 2)
    has_async_line = False
    for line in protobuf_all(plane, 3):
        name = (protobuf_first(line, 11) or protobuf_first(line, 2)).decode()
        events = protobuf_all(line, 4)
        has_async_line |= name == "Async XLA Ops" and bool(events)
        for event in events:
            kind = kinds.get(protobuf_first(event, 1, 0), b"")
            counts[xplane_row_kind(is_device, name, event, kind, stat_names)] += 1
            name_of_kind = protobuf_first(kind, 2).decode(errors="replace")
            counts["collectives"] += is_device and (
                " all-reduce(" in name_of_kind or ("Stream" in name and is_communication_kernel(name_of_kind)))
    # A copy has two halves on the core; where the profiler did not join them, the reader does.
    counts["copies"] += 0 if has_async_line else counts["copy-start"]
    counts["device_annotations"] += counts["copy-start"] + counts["copy-done"]
    return counts


def count_xplane(path):
    counts = collections.Counter()
    for plane in protobuf_all(read_bytes(path), 1):
        counts.update(count_xplane_plane(plane))
    keys = ("kernels", "copies", "sets", "other_device_work", "runtime_calls", "annotations",
            "device_annotations", "collectives")
    return {key: counts[key] for key in keys}


def count_rocprofv3(path):
    counts = collections.Counter()
    for process in json.loads(read_bytes(path))["rocprofiler-sdk-tool"]:
        buffers = process["buffer_records"]
        counts["kernels"] += len(buffers["kernel_dispatch"])
        counts["copies"] += len(buffers["memory_copy"])
        counts["runtime_calls"] += sum(len(rows) for name, rows in buffers.items()
                                       if name.endswith("_api"))
    return {key: counts[key] for key in ("kernels", "copies", "runtime_calls")}


def count_torch_memory_timeline(path):
    return {"memory_events": len(json.loads(read_bytes(path)))}


def count_torch_snapshot(path):
    """Allocations, and what was asked to be freed; only for files of our own making."""
    entries = sum(pickle.loads(path.read_bytes())["device_traces"], [])
    return {"memory_events": sum(entry["action"] in ("alloc", "free_requested")
                                 for entry in entries)}


def stream_records(content):
    """Yields (chunk type, kind) of each record of an event stream whose chunks are not packed."""
    at = 16
    while at < len(content):
        kind, = struct.unpack_from("<H", content, at + 4)
        size, = struct.unpack_from("<I", content, at + 24)
        at, end = at + 40, at + 40 + size
        while at < end:
            length, at = varint(content, at)
            yield kind, varint(content, at)[0]
            at += length


def count_orrs(path):
    records = collections.Counter(stream_records(path.read_bytes()))
    launches, copies, sets = records[6, 7], records[6, 5], records[6, 6]
    return {"kernels": launches, "copies": copies, "sets": sets, "host_ops": records[6, 12],
            "memory_objects": records[6, 3] + records[7, 1],
            "touches": records[8, 1] + 2 * copies + sets + records[9, 2] + records[9, 3],
            "accesses": records[10, 1]}


COUNT = {
    "kineto": count_kineto,
    "execution_trace": count_execution_trace,
    "nsys": count_nsys,
    "nccl_tests": count_nccl_tests,
    "xplane": count_xplane,
    "rocprofv3": count_rocprofv3,
    "torch_memory_timeline": count_torch_memory_timeline,
    "torch_snapshot": count_torch_snapshot,
    "orrs": count_orrs,
}

# Files of our own making, under tests/data; databases are kept as the SQL that makes them.
OWN_FILES = {
    "kineto": ("kineto/two_ranks/*.json", "analyze/*/rank*.json", "h200/*.kineto.json.gz"),
    "execution_trace": ("execution_trace/*.json", "h200/*.et.json.gz"),
    "nsys": ("nsys/*.sql",),
    "nccl_tests": ("nccl_tests/all_reduce.log",),
    "xplane": ("xplane/*.pb",),
    "rocprofv3": ("rocprofv3/*.json",),
    "torch_memory_timeline": ("torch_memory_timeline/*.raw.json",),
    "torch_snapshot": ("torch_snapshot/whole.*.pickle", "torch_snapshot/ring.pickle"),
    "orrs": ("orrs/whole.orrs", "orrs/killed.orrs", "orrs/two_ranks/*.orrs"),
}

INDEX_FORMATS = {
    "kineto": ("Kineto JSON",),
    "execution_trace": ("PyTorch execution trace JSON",),
    "nsys": ("nsys SQLite", "nsys SQLite (gzip)"),
    "xplane": ("XPlane protobuf", "XPlane protobuf (gzip)"),
    "rocprofv3": ("rocprofv3 JSON",),
    "torch_memory_timeline": ("memory timeline JSON (list)",),
}


def own_files(kind, folder):
    """Yields the samples of our own; databases are made in `folder`."""
    data = pathlib.Path(__file__).resolve().parent.parent / "data"
    for pattern in OWN_FILES[kind]:
        for path in sorted(data.glob(pattern)):
            if path.suffix != ".sql":
                yield path
                continue
            database = folder / f"{path.stem}.sqlite"
            sqlite3.connect(database).executescript(path.read_text())
            yield database


def shared_files(kind, shared):
    if kind == "nccl_tests":
        return sorted((shared / "comm").rglob("*.log"))
    listed = shared / "traces" / "INDEX.csv"
    if kind not in INDEX_FORMATS or not listed.is_file():
        return []
    with open(listed, newline="") as index:
        return [shared / "traces" / row["path"] for row in csv.DictReader(index)
                if row["format"] in INDEX_FORMATS[kind]]


def reported_counts(program, path):
    """Returns the program's counts, summed over the ranks, or a sentence on why there are none."""
    done = subprocess.run([program, "info", "--json", path], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        return f"exit status {done.returncode}: {done.stderr.strip()}"
    try:
        ranks = json.loads(done.stdout)["ranks"]
    except (ValueError, KeyError) as error:
        return f"no usable JSON: {error}"
    total = collections.Counter()
    for rank in ranks:
        total.update(rank["counts"])
    return total


def mismatches(path, expected, reported):
    """Yields (path, count, expected, reported) for everything that differs."""
    if isinstance(reported, str):
        yield path, "-", "-", reported
        return
    for key, count in expected.items():
        if reported.get(key, 0) != count:
            yield path, key, count, reported.get(key, "absent")


def shown_path(path, shared):
    return path.relative_to(shared) if path.is_relative_to(shared) else path.name


def print_table(rows):
    cells = [("file", "count", "expected", "orrery info")] + [tuple(map(str, row)) for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(3)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)), row[3], sep="  ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    parser.add_argument("format", choices=sorted(COUNT))
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = [*own_files(options.format, pathlib.Path(folder)), *shared_files(options.format, options.shared)]
        for path in files:
            rows += mismatches(shown_path(path, options.shared), COUNT[options.format](path),
                               reported_counts(options.program, path))
    if rows:
        print_table(rows)
    print(f"{options.format}: {len(files)} files, {len(rows)} counts differ")
    return 1 if rows or not files else 0


if __name__ == "__main__":
    sys.exit(main())
