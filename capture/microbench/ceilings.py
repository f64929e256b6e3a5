"""`orrery-capture measure ceilings`: builds and runs the CUDA program in ../ceilings."""

import pathlib
import subprocess
import sys

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
_PROGRAM = _FOLDER / "build" / "ceilings"


def add_options(parser):
    parser.add_argument("--out", metavar="FILE.csv", help="the table (standard output)")


def main(options):
    try:
        built = subprocess.run(["make", "-s", "-C", str(_FOLDER), "build/ceilings"], check=False,
                               stdout=sys.stderr)
    except FileNotFoundError:
        built = None
    if not _PROGRAM.exists() or (built is not None and built.returncode != 0):
        print("orrery-capture: the ceilings could not be built; make and nvcc are needed",
              file=sys.stderr)
        return 2
    if options.out is None:
        return subprocess.run([str(_PROGRAM)], check=False).returncode
    with open(options.out, "w", encoding="utf-8") as out:
        return subprocess.run([str(_PROGRAM)], check=False, stdout=out).returncode
