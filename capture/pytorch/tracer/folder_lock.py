"""One run at a time writes into a folder."""

import fcntl
import os


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


def make(folder):
    """Makes the folder and locks it."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FolderInUse(f"{folder}: {error.strerror}; say another --out") from error
    return FolderLock(folder)
