"""The manifest of a recording: which streams belong together, and who wrote them where."""

import json
import pathlib
import re
import socket

import orrs_reader

_LARGEST = 1 << 20  # what says who wrote a stream stands at its beginning


def path_of(out):
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
            stream = orrs_reader.parse(file.read(_LARGEST))
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


def write(out, paths):
    """Writes it where several processes recorded; one stream says all of itself."""
    found = manifest(paths)
    if len(paths) > 1 or found["world_size"] > 1:
        path_of(out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
