"""Files that are complete or absent, a lock on the output folder, and the request that a rank's process gets from its driver."""

import dataclasses
import fcntl
import gzip
import json
import os
import shutil


def write_text(path, text):
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)


def write_json(path, document):
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def write_gzip(path, chunks):
    """Text, packed; the same bytes for the same text."""
    part = f"{path}.part"
    with open(part, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        for chunk in chunks:
            packed.write(chunk.encode())
    os.replace(part, path)


def pack(source, path):
    """Moves a file into a gzip archive."""
    part = f"{path}.part"
    with open(source, "rb") as plain, open(part, "wb") as raw, \
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        shutil.copyfileobj(plain, packed)
    os.replace(part, path)
    os.remove(source)


def read_json(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return json.load(file)


class FolderInUse(Exception):
    """One sentence on why nothing can be written there."""


class FolderLock:
    """Held until the process ends, however it ends; leaves nothing behind."""

    def __init__(self, folder):
        self._descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise FolderInUse(f"{folder}: another run of orrery trace writes into this folder; "
                              "wait for it, or say another --out") from error
        except OSError:
            pass  # a file system without locks

    def release(self):
        os.close(self._descriptor)


def lock_folder(folder):
    """Makes the folder and locks it."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FolderInUse(f"{folder}: {error.strerror}; say another --out") from error
    return FolderLock(folder)


COMPLETE = 0
REFUSED = 2  # a sentence was printed, nothing is recorded
INCOMPLETE = 3  # the recording so far is kept
OUT_OF_MEMORY = 75


@dataclasses.dataclass
class Request:
    """`options` are words of the command line for a built-in model; `script` a program and its
    arguments in their place."""

    folder: str
    rank: int
    world: int
    steps: int
    profiled_steps: int = 3
    is_timing_only: bool = False
    layers: int = 0  # 0: all
    options: dict = dataclasses.field(default_factory=dict)
    script: list = dataclasses.field(default_factory=list)

    def write(self, path):
        write_json(path, dataclasses.asdict(self))

    @staticmethod
    def read(path):
        return Request(**read_json(path))
