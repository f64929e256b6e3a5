"""The streams of a recording: the manifest that lists them, and what they say of themselves in a few lines."""

import errno
import json
import os
import pathlib
import re
import shutil
import signal
import socket

import orrs_reader

_LARGEST_BEGINNING = 1 << 20  # a stream's records about its process are at its beginning


def manifest_path(out):
    """Beside the streams; each host of a job writes its own."""
    stem = pathlib.Path(out).name.removesuffix(".orrs")
    host = re.sub(r"[^A-Za-z0-9._-]", "_", socket.gethostname()) or "host"
    return pathlib.Path(out).parent / f"{stem}.{host}.manifest.json"


def _text(value):
    return value.decode(errors="replace")


def _entry(path):
    """Returns the process's fields at the beginning of a stream; only its name and size if it has none."""
    found = {"file": path.name, "bytes": path.stat().st_size}
    try:
        with open(path, "rb") as file:
            stream = orrs_reader.parse(file.read(_LARGEST_BEGINNING))
    except orrs_reader.NotAStream:
        return found
    for process in stream.records("Process")[:1]:
        found.update({name: process[name] for name in ("process", "rank", "world_size") if process[name] >= 0})
        found.update({name: _text(process[name]) for name in ("host", "producer", "driver", "toolkit", "framework")
                      if process[name]})
    found["devices"] = [{"device": device["device"], "name": _text(device["name"]), "uuid": _text(device["uuid"])}
                        for device in stream.records("Device")]
    found["clock_pairs"] = stream.records("ClockPair")[:1]
    return found


def manifest(paths):
    """Returns the content of these streams' manifest. Its first key identifies the format."""
    files = sorted((_entry(path) for path in paths), key=lambda entry: (entry.get("rank", -1), entry["file"]))
    return {"orrery_manifest": 1, "world_size": max((entry.get("world_size", 1) for entry in files), default=1),
            "files": files}


def write_manifest(out, paths):
    """Writes it where several processes recorded; one stream says all of itself."""
    found = manifest(paths)
    if len(paths) > 1 or found["world_size"] > 1:
        path = manifest_path(out)
        part = path.with_name(f".{path.name}.{os.getpid()}")  # ranks may write it at the same time
        part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        part.replace(path)


_RECORDS_DROPPED, _NOT_COVERED, _ENDED = 3, 6, 9
_LARGEST = 1 << 20  # that Python reads in a second; of larger streams records are counted
_FULL_BYTES = 1 << 20  # a disk with less than that free is full


def files_of(out, rank=None):
    """The streams of a run: run.orrs, and those of further processes and ranks beside it; or of one rank."""
    path = pathlib.Path(out)
    more = r"(\.(rank-)?\d+)*" if rank is None else rf"\.rank-{rank}(\.\d+)*"
    ours = re.compile(re.escape(path.name.removesuffix(".orrs")) + more + r"\.orrs")
    found = [one for one in path.absolute().parent.iterdir() if ours.fullmatch(one.name)
             or (rank is None and one.name == path.name)]
    return sorted(path.parent / one.name for one in found)


_WORK = ("Launch", "Copy", "Set", "GraphLaunch", "Synchronization", "Allocation", "Object", "OperatorBegin", "RegionBegin")


def _remove_launchers(out):
    """The process that starts ranks (torchrun) brings the driver up and does nothing: its stream is none of the job's."""
    found = files_of(out)
    ranks = [path for path in found if re.search(r"\.rank-\d+(\.\d+)*\.orrs$", path.name)]
    for path in set(found).difference(ranks) if ranks else ():
        if path.stat().st_size <= _LARGEST:
            try:
                is_empty = not any(map(orrs_reader.read(path).count, _WORK))
            except (OSError, orrs_reader.NotAStream):
                continue
            if is_empty:
                path.unlink(missing_ok=True)


def _is_full(folder):
    return shutil.disk_usage(folder).free < _FULL_BYTES


def _why_cut(path, status):
    """Why a stream has no end."""
    if _is_full(path.absolute().parent):
        return "the disk is full"
    if status > 128:
        return f"the program was ended by {signal.Signals(status - 128).name}, the last 0.5 s may be missing"
    return "the program did not come to its end"


def _losses(stream, path, status):
    """Sentences about what is not in the stream."""
    counts = [(count["kind"], _text(count["name"]), count["count"]) for count in stream.records("CoverageCount")]
    lost = [(name, count) for kind, name, count in counts if kind == _RECORDS_DROPPED]
    if lost:
        is_full = any(os.strerror(errno.ENOSPC) in name for name, _ in lost)
        yield f"{sum(count for _, count in lost):,} records dropped" + (": the disk is full" if is_full else "")
    yield from (name for kind, name, _ in counts if kind == _NOT_COVERED and name)
    if not any(kind == _ENDED for kind, _, _ in counts):
        yield f"cut off: {_why_cut(path, status)}"
    has_work = any(stream.count(name) for name in ("Launch", "Copy", "Set", "GraphLaunch", "Synchronization"))
    if not has_work and (stream.count("OperatorBegin") or stream.count("Allocation")):
        yield "no GPU work was recorded: another profiler in the program took it, or it did none"
    if stream.damaged:
        yield f"{stream.damaged} damaged parts"


def summary_of(path, status=0):
    """(line for people, whether something is missing)."""
    stream = orrs_reader.read(path, None if path.stat().st_size <= _LARGEST else ("COV",))
    losses = list(_losses(stream, path, status))
    seen = sum(1 for launch in stream.records("Launch") if launch["coverage"] != 0)
    words = [f"{path}: {path.stat().st_size:,} bytes, {stream.count('Launch'):,} launches",
             f"{stream.count('Allocation'):,} allocations"]
    words += [f"accesses of {seen:,} launches seen"] if seen else []
    return ", ".join(words + losses), bool(losses)


def report(out, status=0, rank=None):
    """(lines, exit status of ours: 0 complete, 3 with losses, 2 nothing recorded)."""
    lines, is_partial = [], False
    for path in files_of(out, rank):
        try:
            line, lacks = summary_of(path, status)
        except (OSError, orrs_reader.NotAStream) as error:
            line, lacks = f"{path}: {error}" + (": the disk is full" if _is_full(path.absolute().parent) else ""), True
        lines.append(line)
        is_partial |= lacks
    if not lines:
        return [f"nothing was recorded into {out}: the program made no use of CUDA, or ended before"], 2
    return lines, 3 if is_partial else 0


def finish(out, status, say, rank=None):
    """Writes the manifest, says what was recorded; the exit status of all."""
    try:
        if rank is None:
            _remove_launchers(out)
        write_manifest(out, files_of(out))
    except OSError as error:
        say(f"{manifest_path(out)} cannot be written: {error.strerror}")
    lines, own_status = report(out, status, rank)
    for line in lines:
        say(line)
    return status or own_status
