"""`orrery-capture measure ceilings`: builds and runs the CUDA program in ../ceilings."""

import pathlib
import subprocess
import sys

import building


def add_options(parser):
    parser.add_argument("--out", metavar="FILE.csv", help="the table (standard output)")


def _say(text):
    print(f"orrery-capture: {text}", file=sys.stderr)
    return 2


def main(options, has_gpu=building.has_gpu, build=building.build):
    """A table that is not complete is not left behind."""
    if not has_gpu():
        return _say(building.NO_GPU)
    try:
        program = build("ceilings", about="the program that measures") / "ceilings"
    except building.BuildError as error:
        return _say(f"the ceilings could not be built: {error} (make and nvcc are needed)")
    if options.out is None:
        return subprocess.run([str(program)], check=False).returncode
    out = pathlib.Path(options.out)
    part = out.with_name(out.name + ".part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            status = subprocess.run([str(program)], check=False, stdout=file).returncode
        if status == 0:
            part.replace(out)
        return status
    finally:
        part.unlink(missing_ok=True)
