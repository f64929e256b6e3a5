#!/usr/bin/env python3
"""Speed and memory of the memory tools on a generated stream: bench/memory.py --build build [--launches 3000000].

The default is a stream of 1 GB. `--whole` reads it at once, as tools that need all of it do."""

import argparse
import os
import pathlib
import subprocess
import tempfile

from timed_process import run_timed

TOOLS = ("kernel-frequency", "working-set", "heat")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--launches", type=int, default=3000000)
    parser.add_argument("--whole", action="store_true", help="read the stream at once instead of in pieces")
    parser.add_argument("--tools", default=",".join(TOOLS), help="comma-separated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stream = os.path.join(folder, "generated.orrs")
        subprocess.run([options.build / "bench" / "generate_orrs", stream, "--launches", str(options.launches)], check=True)
        size = os.path.getsize(stream)
        print(f"stream of {size / 1e6:.0f} MB, {options.launches} launches, 20 objects each")
        for tool in options.tools.split(","):
            run = run_timed([options.build / "orrery", "memory", stream, "--tool", tool, *(["--whole"] if options.whole else [])])
            print(f"{tool:18} {run.seconds:6.2f} s {size / run.seconds / 1e6:6.0f} MB/s {run.peak_bytes / 1e6:7.0f} MB, "
                  f"{run.peak_bytes / size:.1f} bytes for each of the stream")


if __name__ == "__main__":
    main()
