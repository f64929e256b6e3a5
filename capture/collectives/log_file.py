"""The log while it is written: what goes to the file is shown as well."""

import sys


class LogFile:
    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, line):
        self._file.write(line + "\n")
        self._file.flush()
        print(line, file=sys.stdout, flush=True)
