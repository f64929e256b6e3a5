"""Runs a script as Python would, with modules of its own in the place of ours that have the same names."""

import os
import pathlib
import runpy
import sys

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]


def _is_ours(path):
    return bool(path) and pathlib.Path(path).resolve().is_relative_to(_CAPTURE)


def hide_ours():
    """The script's `import models` finds its own. Who holds a module of ours keeps it, but nothing of
    ours can be imported from now on."""
    sys.path[:] = [folder for folder in sys.path if not _is_ours(folder)]
    for name, module in list(sys.modules.items()):
        if name != "__main__" and _is_ours(getattr(module, "__file__", None)):
            del sys.modules[name]


def run(script):
    """Why it ended, where that was not its end."""
    hide_ours()
    sys.argv = list(script)
    sys.path.insert(0, os.path.dirname(os.path.abspath(script[0])))
    try:
        runpy.run_path(script[0], run_name="__main__")
    except SystemExit as end:
        return f"ended with status {end.code}" if end.code else ""
    return ""
