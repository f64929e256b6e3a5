"""The machine while a run goes on: GPU clocks, signals that end the run, and turns of processes that share the GPU."""

import fcntl
import signal
import subprocess
import threading

_QUERY = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,power.draw",
          "--format=csv,noheader,nounits", "-i", "0", "-lms", "200"]


class Clocks:
    """The last clocks read; zeros where nvidia-smi is absent."""

    def __init__(self):
        self.sm_mhz = self.mem_mhz = 0
        self.power_w = 0.0
        self._process = None
        try:
            self._process = subprocess.Popen(_QUERY, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self._take(line)

    def _take(self, line):
        try:
            sm, mem, power = (float(word) for word in line.split(","))
        except ValueError:
            return
        self.sm_mhz, self.mem_mhz, self.power_w = int(sm), int(mem), power

    def close(self):
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def why_no_gpu():
    """One sentence where PyTorch or a GPU is missing, or nothing."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed for this python3; install it, or run with the python3 that has it"
    return "" if torch.cuda.is_available() else "PyTorch sees no GPU on this machine"


def driver_version():
    try:
        out = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader",
                              "-i", "0"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    return out.strip()


class StopFlag:
    """Set by SIGTERM and SIGINT; the run ends after what it has at hand."""

    def __init__(self):
        self.is_set = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, *_):
        self.is_set = True


class Turns:
    """A lock among the processes that name the same file; nothing without a name."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8") if path else None

    def __enter__(self):
        if self._file:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        if self._file:
            fcntl.flock(self._file, fcntl.LOCK_UN)
