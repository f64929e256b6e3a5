"""Writes profiles beside training: a thread that lets other processes compress them, and moves files into place.

Run as a script, it is that other process.
"""
from __future__ import annotations

import collections
import gc
import gzip
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from typing import Any, Callable, Deque, Optional

Save = Callable[[str], Any]

_MOST_WAITING = 4  # profiles; each keeps its events in memory until it is saved
_MOST_SECONDS_OF_A_CHILD = 600.0
_BLOCK_BYTES = 4 << 20
# A tenth of the time of level 9, which PyTorch uses, for files 1.6 times as large (a profile of 34 MB of JSON).
_LEVEL = 1


def complain(what: str) -> None:
    """A warning, even where warnings are errors: training goes on."""
    try:
        warnings.warn(f"orrery: {what}", RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        sys.stderr.write(f"orrery: {what}\n")


class Writer:
    """Does work one after another on a thread that lives as long as there is any.

    The thread is no daemon, so the interpreter waits for it at its end.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: Deque[Callable[[], None]] = collections.deque()
        self._thread: Optional[threading.Thread] = None

    def submit(self, work: Callable[[], None]) -> None:
        """Returns at once, unless too much is waiting already."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < _MOST_WAITING)
            self._waiting.append(work)
            if self._thread is None:
                self._start()

    def wait(self) -> None:
        """Until all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="orrery-trace-writer", daemon=False)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is ending
            self._thread = None
            _do(self._waiting.popleft())

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    self._changed.notify_all()
                    return
                work: Optional[Callable[[], None]] = self._waiting.popleft()
                self._changed.notify_all()
            _do(work)
            work = None  # the memory of the profile is given back here, not in the next step


def _do(work: Optional[Callable[[], None]]) -> None:
    try:
        if work is not None:
            work()
    except Exception as error:  # noqa: BLE001: whatever it was, training goes on
        complain(f"a profile was not written: {type(error).__name__}: {error}")


_writer = Writer()


def _forget_writer() -> None:
    global _writer
    _writer = Writer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_writer)  # its thread is not in the child


def submit(work: Callable[[], None]) -> None:
    _writer.submit(work)


def wait() -> None:
    """Waits until everything that was handed over is written.

    >>> orrery.torch.wait()
    """
    _writer.wait()


def save_file(save: Save, path: str, compress: bool) -> None:
    """Saves to `path`, which appears when it is complete. With `compress` its name ends in .gz."""
    if not compress:
        raw = part_name(path, ".json")
        _save_checked(save, raw)
        os.replace(raw, path)
        return
    with tempfile.TemporaryDirectory(prefix="orrery-") as scratch:
        raw = os.path.join(scratch, "trace.json")
        _save_checked(save, raw)
        pack(raw, path)


def finish_file(raw: str, path: str, compress: bool) -> None:
    """The same for JSON that is there already, beside `path`; it is removed.

    Another interpreter compresses: a thread of this one would take the interpreter's lock from training again and again.
    """
    if not compress:
        os.replace(raw, path)
        return
    if not _pack_elsewhere(raw, path):
        pack(raw, path)
    os.remove(raw)


def _pack_elsewhere(raw: str, path: str) -> bool:
    if not sys.executable:
        return False
    words = [sys.executable, "-S", "-E", os.path.abspath(__file__), raw, path]
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def _save_checked(save: Save, path: str) -> None:
    save(path)
    if not os.path.exists(path):  # PyTorch only logs that it could not write
        raise OSError(f"PyTorch did not write {path}")


def pack(raw: str, path: str) -> None:
    """Compresses a file to `path`, which appears when it is complete."""
    part = part_name(path, ".gz")
    try:
        with open(raw, "rb") as source, gzip.open(part, "wb", compresslevel=_LEVEL) as target:
            shutil.copyfileobj(source, target, _BLOCK_BYTES)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def part_name(path: str, suffix: str) -> str:
    """Hidden, so that who reads the folder meanwhile does not take it."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.part{suffix}")


def fork_and_save(save: Save, path: str, compress: bool) -> Callable[[], None]:
    """Saves in a copy of the process, and returns what waits for it, and saves in this one where the copy could not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on forks beside threads
        child = os.fork()
    if child == 0:
        _save_and_leave(save, path, compress)

    def finish() -> None:
        if not _has_succeeded(child):
            save_file(save, path, compress)

    return finish


def _save_and_leave(save: Save, path: str, compress: bool) -> None:
    gc.disable()  # tensors must not be freed here: CUDA is not usable in a child
    status = 1
    try:
        save_file(save, path, compress)
        status = 0
    finally:
        os._exit(status)


def _has_succeeded(child: int) -> bool:
    until = time.monotonic() + _MOST_SECONDS_OF_A_CHILD
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        if time.monotonic() > until:  # a thread that is not in the child holds a lock
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.05)


def print_findings(path: str) -> None:
    """The three main findings, on standard error; nothing where the compiled module is not there."""
    try:
        from . import read
    except ImportError:
        return
    # One thread: the cores belong to training.
    findings = read(path, threads=1).analyze(threads=1)["findings"][:3]
    lines = [f"orrery: {path}"]
    lines += [f"  {place}. {finding['text']}" for place, finding in enumerate(findings, 1)]
    sys.stderr.write("\n".join(lines if findings else [lines[0] + ": no findings"]) + "\n")


if __name__ == "__main__":
    pack(*sys.argv[1:])
