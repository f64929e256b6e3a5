"""Bad input: one sentence as `orrery.Error`, wrong types name the argument, the interpreter lives on."""
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import orrery
import pytest


def test_a_file_that_is_not_there():
    with pytest.raises(orrery.Error, match="nowhere.json") as caught:
        orrery.read("nowhere.json")
    assert repr(type(caught.value)) == "<class 'orrery.Error'>"


@pytest.mark.parametrize("call, argument", [
    (lambda: orrery.read(7), "paths"), (lambda: orrery.read([7]), "paths"), (lambda: orrery.read("x", threads="two"), "threads"),
    (lambda: orrery.read("x", step_marker=3), "step_marker"), (lambda: orrery.simulate(7), "job"),
    (lambda: orrery.simulate({"a": object()}), "job"), (lambda: orrery.diff(1, 2), "a"), (lambda: orrery.memory(1.5), "run"),
    (lambda: orrery.validate(None), "truth"), (lambda: orrery.predict.kernel("gemm", gpu=object()), "gpu"),
])
def test_wrong_types_name_the_argument(call, argument):
    with pytest.raises(TypeError, match=argument):
        call()


def test_an_unknown_metric_has_a_suggestion(recording):
    with pytest.raises(orrery.Error, match="mfu"):
        recording.metric("mfuu")
    with pytest.raises(TypeError, match="name"):
        recording.metric(3)


def test_an_unknown_option_has_a_suggestion(recording):
    with pytest.raises(orrery.Error, match="did you mean 'steps'"):
        recording.analyze(stepps="1:2")


def test_a_job_with_a_wrong_key():
    with pytest.raises(orrery.Error, match="plna"):
        orrery.simulate({"model": "llama3-8b", "cluster": "dgx-h100", "gpus": 8, "plna": {"tp": 2},
                         "training": {"sequence": 4096, "global_batch": 8, "micro_batch": 1}})
    with pytest.raises(orrery.Error):
        orrery.simulate({})


def test_a_closed_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    file = open(path)
    file.close()
    with pytest.raises((TypeError, orrery.Error)):
        orrery.read(file)


def test_a_damaged_file_is_an_error_or_a_problem(data, tmp_path):
    import gzip
    text = gzip.decompress((data / "h200" / "fake-tp8.kineto.json.gz").read_bytes())
    path = tmp_path / "cut.json"
    path.write_bytes(text[:len(text) // 2])
    run = orrery.read(path)
    assert run.is_partial
    assert any(problem["is_loss"] for problem in run.problems)
    assert "losses" in repr(run)


def test_a_full_disk():
    script = """
import orrery, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    orrery.simulate("examples/llama3-70b-512-h100.yaml", trace=sys.argv[1])
except orrery.Error as error:
    print("Error:", error)
"""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run([sys.executable, "-c", script, "/tmp/orrery-full-disk.orr"], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Error:")


def test_ctrl_c_ends_a_search(root):
    """The search would take minutes; the interrupt ends it, and the interpreter goes on."""
    script = """
import orrery, os, signal, threading, time
threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    orrery.search("examples/llama3-70b-512-h100.yaml", gpus="512")
    print("ended")
except KeyboardInterrupt:
    print("interrupted", orrery.predict.kernel("gemm m=64 n=64 k=64 bf16", gpu="H100")["time_s"] > 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root, timeout=300)
    assert done.stdout.split() == ["interrupted", "True"], done.stdout + done.stderr


JOB = {"model": "llama3-8b", "training": {"sequence": 2048, "micro_batch": 1, "global_batch": 64}, "plan": {"tp": 2, "pp": 2},
       "cluster": "DGX H100", "gpus": 16}

FORKS = """
import json, os, signal, sys, threading
import orrery
path, job = sys.argv[1], json.loads(sys.argv[2])

def work():
    orrery.simulate(job)
    orrery.read(path).analyze()

work()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for _ in range(4):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that waits for threads of its parent is ended
        run = orrery.read(path)
        orrery.simulate(job, step_only=True)
        orrery.simulate(job)
        run.analyze()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("children have ended")
"""

FORKS_IN_A_CALL = """
import json, os, signal, sys
import orrery
from orrery import _native
statuses = []

def fork(done, total, what):
    if statuses:
        return
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            orrery.simulate(json.loads(sys.argv[2]))
        except orrery.Error as error:
            os._exit(7 if "forked" in str(error) else 8)
        os._exit(9)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

_native.read([sys.argv[1]], 0, "", 0.0, "auto", fork)
print(statuses)
"""


def forked(script, data):
    path = data / "h200" / "fake-tp8.kineto.json.gz"
    done = subprocess.run([sys.executable, "-c", script, str(path), json.dumps(JOB)], capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def test_a_forked_child_goes_on_after_threads(data):
    assert forked(FORKS, data) == "children have ended\n"


def test_a_child_that_is_forked_during_a_call_is_told(data):
    assert forked(FORKS_IN_A_CALL, data) == "[7]\n"


def test_two_reads_at_once(data):
    results, errors = [], []

    def read():
        try:
            run = orrery.read(data / "h200" / "fake-tp8.kineto.json.gz")
            results.append((len(run.ranks[0].kernels), run.metric("avg_step_time")))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(set(results)) == 1


def test_a_thousand_reads_keep_no_memory(data):
    path = data / "h200" / "fake-tp8.kineto.json.gz"

    def resident_kb():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() // 1024

    def read(times):
        for _ in range(times):
            run = orrery.read(path, threads=1)
            run.ranks[0].kernels["begin_ns"]
            run.ranks[0].kernels.__arrow_c_stream__()

    read(100)
    before = resident_kb()
    read(900)
    one_run_kb = 2000
    assert resident_kb() - before < 10 * one_run_kb
