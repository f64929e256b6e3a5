"""The streams of a recording: the manifest that lists them, and what they say of themselves in a few lines."""

import json
import pathlib
import re
import socket

import orrs_reader

_LARGEST_BEGINNING = 1 << 20  # what says who wrote a stream stands at its beginning


def manifest_path(out):
    """Beside the streams; each host of a job writes its own."""
    stem = pathlib.Path(out).name.removesuffix(".orrs")
    host = re.sub(r"[^A-Za-z0-9._-]", "_", socket.gethostname()) or "host"
    return pathlib.Path(out).parent / f"{stem}.{host}.manifest.json"


def _text(value):
    return value.decode(errors="replace")


def _entry(path):
    """What the beginning of a stream says of its process; only its name and size where it says nothing."""
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
    """What the manifest of these streams holds. Its first key tells what it is."""
    files = sorted((_entry(path) for path in paths), key=lambda entry: (entry.get("rank", -1), entry["file"]))
    return {"orrery_manifest": 1, "world_size": max((entry.get("world_size", 1) for entry in files), default=1),
            "files": files}


def write_manifest(out, paths):
    """Writes it where several processes recorded; one stream says all of itself."""
    found = manifest(paths)
    if len(paths) > 1 or found["world_size"] > 1:
        manifest_path(out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


_RECORDS_DROPPED, _ENDED = 3, 9
_LARGEST = 32 << 20  # that Python reads in a few seconds


def files_of(out):
    """The streams of a run: run.orrs, and those of further processes and ranks beside it."""
    path = pathlib.Path(out)
    ours = re.compile(re.escape(path.name.removesuffix(".orrs")) + r"(\.(rank-)?\d+)*\.orrs")
    found = [one for one in path.absolute().parent.iterdir() if one.name == path.name or ours.fullmatch(one.name)]
    return sorted(path.parent / one.name for one in found)


def summary_of(path):
    """(line for people, whether something is missing)."""
    if path.stat().st_size > _LARGEST:
        return f"{path}: {path.stat().st_size:,} bytes; `orrery info` says what is in it", False
    stream = orrs_reader.read(path)
    launches = stream.records("Launch")
    lost = sum(count["count"] for count in stream.records("CoverageCount") if count["kind"] == _RECORDS_DROPPED)
    is_cut = not any(count["kind"] == _ENDED for count in stream.records("CoverageCount"))
    seen = sum(1 for launch in launches if launch["coverage"] != 0)
    words = [f"{path}: {path.stat().st_size:,} bytes, {len(launches):,} launches",
             f"{len(stream.records('Allocation')):,} allocations"]
    words += [f"accesses of {seen:,} launches seen"] if seen else []
    words += [f"{lost:,} records dropped"] if lost else []
    words += ["cut off: the program did not come to its end"] if is_cut else []
    return ", ".join(words), bool(lost or is_cut or stream.damaged)


def report(out):
    """(lines, exit status of ours: 0 complete, 3 with losses, 2 nothing recorded)."""
    lines, is_partial = [], False
    for path in files_of(out):
        try:
            line, lacks = summary_of(path)
        except (OSError, orrs_reader.NotAStream) as error:
            line, lacks = f"{path}: {error}", True
        lines.append(line)
        is_partial |= lacks
    if not lines:
        return [f"nothing was recorded into {out}: the program made no use of CUDA, or ended before"], 2
    return lines, 3 if is_partial else 0
