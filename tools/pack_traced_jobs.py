#!/usr/bin/env python3
"""Shrinks directories of `orrery trace` for storage in a repository; `orrery simulate --from` reads them as before.

    tools/pack_traced_jobs.py --program build/orrery FROM TO [--execution NAME,NAME] [--memory NAME,NAME]

Of each job in FROM: recordings become .orr (a sixth of the compressed JSON); execution traces and memory events are kept
only for the first rank of the named jobs, packed with zstd.
"""

import argparse
import gzip
import pathlib
import shutil
import subprocess
import sys

KEPT = ("steps.json", "collectives.json")


def keep(path, target):
    if path.suffix != ".gz":
        shutil.copyfile(path, target / path.name)
        return
    packed = target / path.with_suffix(".zst").name
    subprocess.run(["zstd", "-q", "--ultra", "-22", "-o", packed], input=gzip.decompress(path.read_bytes()), check=True)


def pack_rank(program, root, source, target, kept):
    target.mkdir(parents=True)
    for name in kept:
        keep(source / name, target)
    # A converted recording names its source file: that must not be an absolute path.
    recording = (source / "kineto.json.gz").relative_to(root)
    command = [program, "convert", str(recording), str(target / "kineto.orr"), "--smallest"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"pack_traced_jobs: {' '.join(command)}: {done.stderr.strip()}")


def pack_job(program, root, source, target, more_files):
    target.mkdir(parents=True)
    for path in (source / "trace.json", source / "job.yaml"):
        if path.exists():
            shutil.copyfile(path, target / path.name)
    for index, rank in enumerate(sorted(source.glob("rank-*"))):
        pack_rank(program, root, rank, target / rank.name, (*KEPT, *more_files) if index == 0 else KEPT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, metavar="FROM")
    parser.add_argument("target", type=pathlib.Path, metavar="TO")
    parser.add_argument("--program", required=True)
    parser.add_argument("--execution", default="", metavar="NAMES")
    parser.add_argument("--memory", default="", metavar="NAMES")
    options = parser.parse_args()
    source, target = options.source.resolve(), options.target.resolve()
    program = str(pathlib.Path(options.program).resolve())
    files = {"execution.json.gz": options.execution.split(","), "memory.csv.gz": options.memory.split(",")}
    for trace in sorted(source.glob("*/trace.json")):
        job = trace.parent
        more = [file for file, names in files.items() if job.name in names]
        pack_job(program, source.parent, job, target / job.name, more)


if __name__ == "__main__":
    main()
