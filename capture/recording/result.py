"""What a recording says of itself, in a few lines."""

import pathlib
import re

import orrs_reader

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
