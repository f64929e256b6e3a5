#!/usr/bin/env python3
"""Runs the program on several processes and compares with one.

    tests/distribute/check_processes.py --mpirun mpirun --program build/orrery --example build/modules/distribute/deal_example CASE

Ends with 77 where the program is built without MPI (no --mpirun). Nothing here waits for a time: a run that hangs is ended by
the limit of the test.
"""

import argparse
import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
TABLE = TESTS / "data" / "published_runs" / "made.csv"
JOB = TESTS / "golden" / "search" / "answer.files" / "job.yaml"
# Tests run as root in containers, which may forbid to read the memory of other processes.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "SOURCE_DATE_EPOCH": "1700000000"}
OUTPUTS = {"text": [], "json": ["--json"], "files": ["--csv", "rows.csv", "--html", "page.html", "--svg", "picture.svg"]}


def settled(store):
    """Rows of a store of plans."""
    if not store.exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=rw", uri=True)) as connection, \
            contextlib.suppress(sqlite3.OperationalError):  # it is just being made
        return connection.execute("SELECT (SELECT count(*) FROM screenings) + (SELECT count(*) FROM plans)").fetchone()[0]
    return 0


def workers_of(parent):
    """Processes that another one started, in their order."""
    children = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = status.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == parent:
                children.append(int(status.parent.name))
    return sorted(children)


class Checks:
    def __init__(self, options):
        self.options = options
        self.failed = False

    def expect(self, is_so, sentence, detail=""):
        if not is_so:
            self.failed = True
            print(f"failed: {sentence}\n{detail}")

    def run(self, processes, command):
        """Runs it on so many processes, 0 for no mpirun, in a folder of its own; returns what it did with the files it wrote."""
        launcher = [self.options.mpirun, "--oversubscribe", "-n", str(processes)] if processes else []
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*launcher, *map(str, command)], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
            files = {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}
        return done, files

    def validate(self):
        """The same bytes for any number of processes and threads."""
        for name, words in OUTPUTS.items():
            command = [self.options.program, "validate", TABLE, *words]
            alone, files_alone = self.run(0, command)
            for processes, threads in ((1, []), (2, []), (4, []), (3, ["--threads", "2"])):
                if threads and name == "files":
                    continue  # pages show their command
                done, files = self.run(processes, [*command, *threads])
                what = f"{name} of {processes} processes {' '.join(threads)}"
                self.expect(done.returncode == alone.returncode, f"{what}: status {done.returncode}", done.stderr.decode())
                self.expect(done.stdout == alone.stdout, f"{what}: another output", done.stdout.decode())
                self.expect(done.stderr == alone.stderr, f"{what}: other messages", done.stderr.decode())
                self.expect(files == files_alone, f"{what}: other files: {list(files)}")

    def search(self):
        """The same plans, counts and reasons."""
        command = [self.options.program, "search", JOB, "--keep", "5"]
        alone, _ = self.run(0, command)
        self.expect(alone.returncode == 0, f"status {alone.returncode}", alone.stderr.decode())
        for processes, threads in ((2, []), (4, []), (3, ["--threads", "2"])):
            done, _ = self.run(processes, [*command, *threads])
            what = f"{processes} processes {' '.join(threads)}"
            self.expect(done.returncode == 0, f"{what}: status {done.returncode}", done.stderr.decode())
            self.expect(done.stdout == alone.stdout, f"{what}: another output", done.stdout.decode())

    def killed_search(self):
        """A worker that is killed ends the run; --resume on other processes ends with the bytes of an undisturbed one."""
        command = [self.options.program, "search", JOB, "--keep", "5"]
        alone, _ = self.run(0, command)
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "plans.orrdb"
            resumed = [*command, "--store", store, "--resume"]
            launcher = [self.options.mpirun, "--oversubscribe", "-n", "3"]
            running = subprocess.Popen([str(word) for word in (*launcher, *resumed)], env=ENVIRONMENT, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            while running.poll() is None and not settled(store):
                pass
            for worker in workers_of(running.pid)[1:2]:  # not the root
                os.kill(worker, signal.SIGKILL)
            output, _ = running.communicate()
            before = settled(store)
            self.expect(running.returncode != 0 or output == alone.stdout, f"status {running.returncode}")
            done, _ = self.run(2, resumed)
            self.expect(done.returncode == 0 and done.stdout == alone.stdout, "another output after --resume", done.stderr.decode())
            self.expect(settled(store) >= before, "plans are lost")

    def errors(self):
        """A mistake that all processes make is told once."""
        done, _ = self.run(4, [self.options.program, "validate", "absent.csv"])
        self.expect(done.returncode == 2, f"status {done.returncode}")
        self.expect(done.stderr.count(b"absent.csv") == 1, "one message", done.stderr.decode())
        self.expect(done.stdout == b"", "no output", done.stdout.decode())

    def answers(self):
        """Small messages and those that MPI does not buffer, to other processes than the root."""
        for count, size in ((1000, 1), (50, 1_000_000)):
            for processes in (2, 4):
                done, _ = self.run(processes, [self.options.example, "remote", count, size])
                self.expect(done.returncode == 0, f"status {done.returncode}", done.stderr.decode())
                self.expect(done.stdout.decode() == f"{count} requests, {2 * count * size} bytes answered\n", "all are answered",
                            done.stdout.decode())

    def failed_process(self):
        """The failure of one process ends the run with its name and reason."""
        done, _ = self.run(3, [self.options.example, "fail", 10])
        self.expect(done.returncode == 2, f"status {done.returncode}")
        text = done.stderr.decode()
        self.expect("deal_example: process " in text and ": it was told to fail" in text, "the reason is told", text)

    def dead_process(self):
        """A process that is killed ends all others, and mpirun says which it was. The example waits for ever otherwise."""
        done, _ = self.run(3, [self.options.example, "kill", 100])
        self.expect(done.returncode not in (0, 2), f"status {done.returncode}")
        self.expect("signal 9" in done.stderr.decode(), "the signal is told", done.stderr.decode())
        self.expect(done.stdout == b"", "no output", done.stdout.decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpirun", default="")
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--example", type=pathlib.Path)
    parser.add_argument("case", choices=["validate", "search", "killed_search", "errors", "answers", "failed_process", "dead_process"])
    options = parser.parse_args()
    if not options.mpirun:
        print("skipped: the program is built without MPI")
        return 77
    checks = Checks(options)
    getattr(checks, options.case)()
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
