"""Runs the program under limits, and says what no run may do."""

import ctypes
import dataclasses
import json
import os
import re
import resource
import signal
import subprocess
import time

STATUSES = (0, 1, 2, 3, 4)  # docs/man/orrery.1; 70 is a bug
MOST_ERROR_BYTES = 2048  # of a line
_LIBC = ctypes.CDLL(None)

# Control characters, marks of direction, and what stands for bytes that are no UTF-8.
RAW_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")
NO_FIGURE = re.compile(r"(?<!\S)[-+±]?(?:nan|inf)[%×]?(?!\S)")
SANITIZER = re.compile(r"(?:Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error: ")


@dataclasses.dataclass
class Limits:
    seconds: float = 30
    memory_kb: int = 3_000_000
    slowness: int = 1  # of a program with sanitizers

    @classmethod
    def of_program(cls, program):
        is_sanitized = any(name in program.read_bytes() for name in (b"__asan_init", b"__tsan_init"))
        return cls(seconds=300, memory_kb=12_000_000, slowness=10) if is_sanitized else cls()


@dataclasses.dataclass
class Faults:
    """Faults in the environment of a run."""

    stdout: str = ""  # a file instead of a captured stream: /dev/full
    stderr: str = ""
    closed: tuple = ()  # standard streams that are not open
    limits: dict = dataclasses.field(default_factory=dict)  # of resource.setrlimit
    signal_after: tuple = ()  # signal, seconds
    plain_user: bool = False  # permissions bind, for root too
    fixed_addresses: bool = False

    def prepare(self):
        """In the child, before the program starts."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # ends programs that do nothing about it
        if self.plain_user:
            for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
                _LIBC.prctl(24, capability, 0, 0, 0)
        if self.fixed_addresses:
            _LIBC.personality(0x0040000)
        for stream in self.closed:
            os.close(stream)
        for kind, limit in self.limits.items():
            resource.setrlimit(kind, (limit, limit))


@dataclasses.dataclass
class Result:
    status: int  # below 0: ended by a signal
    stdout: bytes
    stderr: bytes
    memory_kb: int
    is_late: bool

    @property
    def error(self):
        return self.stderr.decode("utf-8", "surrogateescape")


def wait(process, seconds, signal_after):
    """(status, peak memory in kB, whether it had to be ended)"""
    start, pause = time.monotonic(), 0.0005
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss, False
        passed = time.monotonic() - start
        if signal_after and passed >= signal_after[1]:
            process.send_signal(signal_after[0])
            signal_after = ()
        if passed > seconds:
            process.kill()
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = -signal.SIGKILL
            return process.returncode, usage.ru_maxrss, True
        time.sleep(min(pause, max(0.0001, signal_after[1] - passed)) if signal_after else pause)
        pause = min(0.02, pause * 1.2)


def run(command, folder, streams, environment, faults, limits):
    """Runs a command in a folder; its streams are two files, since a pipe could block."""
    opened = [open(fault or stream, "wb") for fault, stream in zip((faults.stdout, faults.stderr), streams)]
    for stream in streams:
        stream.touch()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=opened[0], stderr=opened[1],
                               preexec_fn=faults.prepare)
    status, memory, is_late = wait(process, limits.seconds, faults.signal_after)
    for stream in opened:
        stream.close()
    return Result(status, streams[0].read_bytes(), streams[1].read_bytes(), memory, is_late)


def refuse_constant(word):
    raise ValueError(f"{word} is no JSON")


def stream_faults(name, text):
    found = RAW_CHARACTERS.search(text)
    if found:
        yield f"raw character {ascii(found.group())} on {name}"
    if name == "stderr" and any(len(line.encode(errors="replace")) > MOST_ERROR_BYTES for line in text.split("\n")):
        yield "a line of stderr is too long"


def negative_bytes(value, name=""):
    """Names of sizes below zero; differences may be."""
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else ((name, item) for item in value):
            yield from negative_bytes(item, key)
    elif isinstance(value, (int, float)) and value < 0 and name.endswith("bytes") and not re.search("differ|change|delta|saved", name):
        yield name


def json_faults(text):
    try:
        for name in {*negative_bytes(json.loads(text, parse_constant=refuse_constant))}:
            yield f"{name} is negative"
    except (ValueError, RecursionError) as error:
        yield f"stdout is no JSON: {str(error)[:80]}"


def judge(words, result, faults, limits):
    """Yields what is wrong with a run, as reasons that are equal for equal faults."""
    if result.is_late:
        yield f"no end within {limits.seconds} s"
        return
    if faults.limits and b"error while loading shared libraries" in result.stderr:
        return  # the system could not start the program
    ended_by_us = faults.signal_after and result.status == -faults.signal_after[0]
    if SANITIZER.search(result.error):
        yield "sanitizer: " + (re.search(r"SUMMARY: .*|runtime error: .*", result.error) or [""])[0][:150]
    elif result.status not in STATUSES and not ended_by_us:
        yield f"exit status {result.status}: {result.error.strip()[-200:]}"
    if result.memory_kb > limits.memory_kb:
        yield "more memory than allowed"
    hears_errors = not faults.stderr and 2 not in faults.closed and resource.RLIMIT_FSIZE not in faults.limits
    if result.status == 2 and hears_errors and not re.search(b"^orrery", result.stderr, re.MULTILINE):
        yield f"status 2 without a sentence: {result.error[:100]}"
    output = result.stdout.decode("utf-8", "surrogateescape")
    yield from stream_faults("stderr", result.error)
    is_answered = result.status in (0, 1, 3, 4) and not faults.stdout and 1 not in faults.closed
    if is_answered and "--json" in words and words[0] not in ("trace", "capture", "measure"):
        yield from json_faults(output)
        return
    yield from stream_faults("stdout", output)
    if NO_FIGURE.search(output):
        yield f"not a number: {NO_FIGURE.search(output).group().strip()}"
