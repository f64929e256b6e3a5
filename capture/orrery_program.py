"""Finds the program orrery, which reads what was recorded here."""

import os
import pathlib
import shutil

_CAPTURE = pathlib.Path(__file__).resolve().parent
# Beside this folder, in the source tree, and where `make install` puts it.
_PLACES = (_CAPTURE / "orrery", _CAPTURE.parent / "build" / "orrery",
           _CAPTURE.parents[2] / "bin" / "orrery")


def add_option(parser):
    parser.add_argument("--orrery", metavar="PROGRAM",
                        help="the program orrery (beside this folder, or in $PATH)")


def find(given=None):
    """The program's path; None where it is not on this machine."""
    if given:
        return shutil.which(given)
    beside = (str(place) for place in _PLACES if os.access(place, os.X_OK))
    return next(beside, None) or shutil.which("orrery")
