"""Attacks on what runs for a while: servers whose clients are slow, whose port is taken and whose inputs change; processes of mpirun
that are killed; signals in Python."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from attack import oracle
from attack.case import ENVIRONMENT, ROOT
from attack.kinds import INPUTS

PATIENCE_S = 60
JOB = ROOT / "tests/golden/search/store.files/job.yaml"
PAGES = ["", "api/session", "api/ranks?run=0", "api/tab?run=0&name=overview", "api/tracks?run=0&rank=0", "api/find?run=0&text=a",
         "api/activity?run=0&level=0&tile=0", "api/critical?run=0", "api/range?run=0", "api/nothing", "api/slices?run=9"]


class Served:
    """`orrery view` on a free port of this machine while the block runs."""

    def __init__(self, case, inputs, *options):
        self.case = case
        command = [str(case.program), "view", *inputs, "--no-open", *options]
        case.commands.append(" ".join(command))
        case.runs += 1
        self.errors = open(case.streams[1], "wb")
        self.process = subprocess.Popen(command, cwd=case.folder, env=ENVIRONMENT | {"HOME": str(case.folder / "home")},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors)

    def __enter__(self):
        self.address = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/(\w+)/", self.address)
        self.port = int(found.group(1)) if found else 0
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "none"
        self.errors.close()
        if self.port and status != 0:
            self.case.find(f"view: a server ends with status {status}")
        for reason in oracle.stream_faults("stderr", pathlib.Path(self.case.streams[1]).read_bytes().decode("utf-8", "surrogateescape")):
            self.case.find(f"view: {reason}")

    def get(self, path, body=None):
        """Status of an answer; 0: there is none."""
        try:
            request = urllib.request.Request(self.address + path, data=body, headers={"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                answer.read()
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except (OSError, ValueError):
            return 0


def slow_clients(rng, port, count):
    """Connections that have begun a request and do not go on."""
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        client.sendall(rng.choice([b"", b"G", b"GET / HTTP/1.1\r\nHost: a", b"POST /x/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n", b"\x16\x03\x01"]))
        clients.append(client)
    return clients


def change(case, path):
    """A change by somebody else to an input while it is served."""
    way = case.rng.choice(["replace", "remove", "append", "folder"])
    if way == "append":
        with open(path, "ab") as file:
            file.write(b"\0" * 1000)
        return
    path.unlink()
    if way == "replace":
        path.write_bytes(b"{}")
    elif way == "folder":
        path.mkdir()


def attack_servers(case):
    """Slow clients, a port that is taken, inputs that change: who has the address gets answers, and the server ends by a signal."""
    way = case.rng.choice(["slow", "port", "changed"])
    name = case.rng.choice(["run.json", "job.yaml"])
    # An input that changes is not one of those that must stay as they are.
    path = case.folder / "out" / name
    shutil.copyfile(INPUTS[name], path)
    with Served(case, [f"out/{name}"]) as served:
        if not served.port:
            if served.process.wait(PATIENCE_S) != 2:
                case.find("view: no address and no refusal")
            return
        clients = slow_clients(case.rng, served.port, 200) if way == "slow" else []
        if way == "changed":
            change(case, path)
        if way == "port":
            second = case.run(["view", str(INPUTS["run.json"]), "--no-open", "--port", str(served.port)])
            if second.status != 2 or b"in use" not in second.stderr:
                case.find(f"view: a port that is taken gives status {second.status}")
        begin = time.monotonic()
        for page in case.rng.sample(PAGES, 6):
            status = served.get(page)
            if status not in (200, 400, 404):
                case.find(f"view: {way}: {page} gives status {status}")
        status = served.get("api/what-if", b'{"run": 0, "changes": [{"subject": "network", "name": "", "speedup": 2}]}')
        if status not in (200, 400, 404):
            case.find(f"view: {way}: a what-if gives status {status}")
        if way == "slow" and time.monotonic() - begin > 9 * case.limits.slowness:
            case.find("view: slow clients delay others")
        for client in clients:
            client.close()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def ranks_of(process):
    """Processes of the program below an mpirun that we have started."""
    listed = subprocess.run(["ps", "-o", "pid=,ppid=,comm=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if line.split()[2].startswith("orrery")]


def attack_processes(case):
    """A rank that is killed ends all others; what its store holds is whole."""
    if shutil.which("mpirun") is None:
        return
    case.add("in/job.yaml", JOB)
    words = ["search", "in/job.yaml", "--keep", "1", "--no-reasons", "--store", "out/plans.orrdb", "--resume"]
    environment = ENVIRONMENT | {"HOME": str(case.folder / "home"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                 "TMPDIR": "/tmp"}
    command = ["mpirun", "--oversubscribe", "-n", "3", str(case.program), *words]
    case.commands.append(" ".join(command))
    case.runs += 1
    process = subprocess.Popen(command, cwd=case.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(case.rng.uniform(0, 0.6))
    ranks = ranks_of(process)
    for rank in case.rng.sample(ranks, min(len(ranks), case.rng.choice((1, 1, 2)))):
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank, case.rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)))
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        case.find("search: the others go on after a rank was killed")
    first = case.run(words)
    if first.status != 0:
        case.find(f"search: status {first.status} after a rank was killed: {first.error[:100]}")
    if case.run([word for word in words if word not in ("--store", "out/plans.orrdb", "--resume")]).stdout != first.stdout:
        case.find("search: another answer after a rank was killed")


PYTHON = """
import os, random, signal, sys, threading
import orrery
rng = random.Random(sys.argv[1])
kind = getattr(signal, sys.argv[2])
timer = threading.Timer(rng.uniform(0, 0.5), lambda: os.kill(os.getpid(), kind))
timer.daemon = True
handled = []
if rng.random() < 0.5:
    signal.signal(kind, lambda *_: handled.append(1))
calls = {
    "read": lambda: orrery.read(sys.argv[3], progress=False).analyze(),
    "simulate": lambda: orrery.simulate(sys.argv[4]),
    "search": lambda: orrery.search(sys.argv[4], budget="1s"),
}
timer.start()
try:
    for _ in range(3):
        calls[rng.choice(sorted(calls))]()
except KeyboardInterrupt:
    pass
except orrery.Error as error:
    print("Error:", error)
print("alive", orrery.predict.kernel("gemm m=64 n=64 k=64 bf16", gpu="H100")["time_s"] > 0)
"""


def attack_python(case):
    """Signals during calls of the module: they are handled, raised or end the interpreter; nothing hangs or crashes."""
    package = case.program.parent / "python"
    if not (package / "orrery").is_dir():
        return
    kind = case.rng.choice(["SIGINT", "SIGINT", "SIGUSR1", "SIGTERM", "SIGCHLD", "SIGPIPE"])
    inputs = [case.add(f"in/{name}", INPUTS[name]) for name in ("run.json", "job.yaml")]
    result = oracle.run([sys.executable, "-c", PYTHON, str(case.rng.random()), kind, *inputs], case.folder, case.streams,
                        ENVIRONMENT | {"PYTHONPATH": str(package), "HOME": str(case.folder / "home")}, oracle.Faults(), case.limits)
    case.commands.append(f"python with {kind}")
    case.runs += 1
    if result.is_late:
        case.find(f"python: {kind}: no end")
    elif result.status not in (0, -getattr(signal, kind)) and b"KeyboardInterrupt" not in result.stderr:
        case.find(f"python: {kind}: status {result.status}: {result.error[-150:]}")
    elif result.status == 0 and b"alive True" not in result.stdout:
        case.find(f"python: {kind}: {result.error[-150:]}")
