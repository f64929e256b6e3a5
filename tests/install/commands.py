"""Commands whose failure, and expectations whose failure, end a check with one sentence."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failed(Exception):
    """One sentence."""


def said(*words, **options):
    """The output of a command."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(is_so, sentence):
    if not is_so:
        raise Failed(sentence)


def run(check, description):
    """Calls check(build, scratch) with the folder of --build and an empty one."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(options.build.resolve(), pathlib.Path(scratch))
        except Failed as failure:
            sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {failure}")
