#!/usr/bin/env python3
"""Kills searches at random moments and looks what their store has.

    tests/search/check_store.py --program build/orrery [--kills 24] [--seed 1]

A search is killed when its store has as many rows as a random number says. All rows that were there must be there afterwards,
and the search that comes to its end must print what an undisturbed one prints.
"""

import argparse
import contextlib
import json
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile

JOB = pathlib.Path(__file__).resolve().parents[1] / "golden" / "search" / "answer.files" / "job.yaml"


def rows(store):
    """The stored rows, by table; none where the store is not there yet."""
    if not store.exists():
        return {}
    found = {}
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=rw", uri=True)) as connection:
        for table, key in (("screenings", "first"), ("plans", "id")):
            with contextlib.suppress(sqlite3.OperationalError):  # it is just being made
                found[table] = set(connection.execute(f"SELECT {key}, figures FROM {table}"))
    return found


def count(found):
    return sum(map(len, found.values()))


class Checks:
    def __init__(self, program, folder):
        self.store = folder / "plans.orrdb"
        self.command = [str(program), "search", str(JOB), "--keep", "5"]
        self.failed = False
        done = subprocess.run([*self.command, "--json"], capture_output=True, text=True, check=True)
        self.whole = json.loads(done.stdout)
        self.text = subprocess.run(self.command, capture_output=True, text=True, check=True).stdout

    def expect(self, is_so, sentence):
        if not is_so:
            self.failed = True
            print(f"failed: {sentence}")

    def search(self, *words):
        return subprocess.run([*self.command, "--store", str(self.store), *words], capture_output=True, text=True, check=False)

    def clean(self):
        for path in self.store.parent.iterdir():
            path.unlink()

    def kill(self, generator, total):
        """Starts or continues a search and kills it; true when it was, false when it ended before."""
        before = rows(self.store)
        target = generator.randint(count(before), total)
        running = subprocess.Popen([*self.command, "--store", str(self.store), "--resume"], stdout=subprocess.PIPE, text=True)
        while running.poll() is None and count(rows(self.store)) < target:
            pass
        settled = rows(self.store)
        running.send_signal(signal.SIGKILL)
        text = running.communicate()[0]
        after = rows(self.store)
        for table, known in (*before.items(), *settled.items()):
            self.expect(known <= after.get(table, set()), f"rows of {table} are lost")
        self.expect(running.returncode in (0, -signal.SIGKILL), f"status {running.returncode}")
        if running.returncode == 0:
            self.expect(text == self.text, f"another output:\n{text}")
        return running.returncode == -signal.SIGKILL

    def kills(self, wanted, seed):
        generator = random.Random(seed)
        self.expect(self.search().returncode == 0, "a search with a store ends")
        total = count(rows(self.store))
        self.clean()
        killed = 0
        while killed < wanted and not self.failed:
            if self.kill(generator, total):
                killed += 1
            else:
                self.clean()  # it came to its end: another one
        done = self.search("--resume", "--json")
        self.expect(done.returncode == 0, done.stderr)
        answer = json.loads(done.stdout)
        for each in (answer, self.whole):
            each.pop("seconds", None)
        self.expect(answer == self.whole, f"another answer than without kills:\n{done.stdout}")
        print(f"{killed} searches killed at up to {total} rows")

    def second_search(self):
        """Says that there is a search already."""
        done = self.search()
        self.expect(done.returncode == 2 and "--resume" in done.stderr, f"status {done.returncode}: {done.stderr}")

    def full_disk(self):
        """A store that cannot grow: one sentence, and what is in it stays."""
        self.clean()
        done = subprocess.run([*self.command, "--store", str(self.store)], capture_output=True, text=True, check=False,
                              preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                                  resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))))
        self.expect(done.returncode == 2 and done.stderr.count("\n") == 1, f"status {done.returncode}: {done.stderr}")
        self.expect("plans.orrdb" in done.stderr, done.stderr)
        done = self.search("--resume")
        self.expect(done.returncode == 0 and done.stdout == self.text, f"it does not go on: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(options.program, pathlib.Path(folder))
        checks.kills(options.kills, options.seed)
        checks.second_search()
        checks.full_disk()
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
