"""The CUDA library in device/, called from Python."""

import ctypes
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1]
_LIBRARY = FOLDER / "build" / "liboverlap.so"

MOST_BLOCKS = 264
PATTERNS = ("copy", "reduce_copy", "spin", "ll", "ll128")
PLACES = ("hbm", "l2", "host")
STAMPED_KINDS = ("moves", "computes", "waits")


class Slot(ctypes.Structure):
    """One run of a pair; see device/device.h."""

    _fields_ = [("go_ns", ctypes.c_uint64), ("release_ns", ctypes.c_uint64 * 2),
                ("gate_ns", ctypes.c_uint64 * 2), ("gate_cycles", ctypes.c_uint64 * 2),
                ("first_begin_ns", ctypes.c_uint64), ("last_begin_ns", ctypes.c_uint64),
                ("last_end_ns", ctypes.c_uint64), ("phase", ctypes.c_uint32),
                ("timed_out", ctypes.c_uint32)]


class BlockRecord(ctypes.Structure):
    """What one block of a communication-like kernel did."""

    _fields_ = [("begin_ns", ctypes.c_uint64), ("mark_ns", ctypes.c_uint64),
                ("end_ns", ctypes.c_uint64), ("mark_bytes", ctypes.c_uint64),
                ("end_bytes", ctypes.c_uint64), ("cycles", ctypes.c_uint64),
                ("sm", ctypes.c_uint32), ("chunks", ctypes.c_uint32)]


class Communication(ctypes.Structure):
    """A communication-like kernel."""

    _fields_ = [("pattern", ctypes.c_int), ("place", ctypes.c_int), ("heavy", ctypes.c_int),
                ("blocks", ctypes.c_int), ("threads", ctypes.c_int), ("shared_bytes", ctypes.c_int),
                ("chunk_bytes", ctypes.c_longlong), ("chunk_ns", ctypes.c_longlong),
                ("chunks_each", ctypes.c_longlong), ("longest_ns", ctypes.c_longlong)]


class Stamped(ctypes.Structure):
    """A compute kernel of our own."""

    _fields_ = [("kind", ctypes.c_int), ("blocks", ctypes.c_int), ("threads", ctypes.c_int),
                ("shared_bytes", ctypes.c_int), ("work_each", ctypes.c_longlong)]


class DeviceError(Exception):
    """The library is not there, or CUDA refused a call."""


def build(architecture):
    """Builds the library where it is not up to date."""
    try:
        made = subprocess.run(["make", "-s", "-C", str(FOLDER), f"ARCH={architecture}",
                               "build/liboverlap.so"], check=False, stdout=sys.stderr)
    except FileNotFoundError as error:
        raise DeviceError("make is not installed; the kernels of the overlap experiments are built "
                          "with make and nvcc") from error
    if made.returncode != 0 or not _LIBRARY.exists():
        raise DeviceError("the kernels of the overlap experiments could not be built; nvcc of the "
                          "CUDA toolkit is needed, in $PATH or in /usr/local/cuda/bin")


class Device:
    """The streams, buffers and slots on the GPU."""

    def __init__(self, slots, device_bytes):
        self._library = ctypes.CDLL(str(_LIBRARY))
        self._library.orrery_overlap_error.restype = ctypes.c_char_p
        self._library.orrery_overlap_stream.restype = ctypes.c_void_p
        self.slots = slots
        self._call("open", slots, ctypes.c_uint64(device_bytes))

    def _call(self, name, *arguments):
        status = getattr(self._library, f"orrery_overlap_{name}")(*arguments)
        if status != 0:
            text = self._library.orrery_overlap_error(status).decode()
            raise DeviceError(f"{name}: {text}")

    def stream(self, which):
        return self._library.orrery_overlap_stream(which)

    def clear(self):
        self._call("clear")

    def gate(self, stream, slot, side, leads, offset_ns):
        self._call("gate", stream, slot, side, leads, ctypes.c_longlong(offset_ns))

    def communicate(self, stream, slot, settings):
        self._call("communicate", stream, slot, ctypes.byref(settings))

    def stamped(self, stream, slot, settings):
        self._call("stamped", stream, slot, ctypes.byref(settings))

    def end(self, stream, slot):
        self._call("end", stream, slot)

    def join(self):
        self._call("join")

    def go(self, slot):
        self._library.orrery_overlap_go(slot)

    def read(self, count):
        """Returns the slots used and the block records of each."""
        slots = (Slot * count)()
        records = (BlockRecord * (count * MOST_BLOCKS))()
        self._call("read", count, slots, records)
        return slots, records

    def takes(self, which, number):
        """Returns (registers of a thread, static shared bytes of a block)."""
        registers, shared = ctypes.c_int(0), ctypes.c_int(0)
        self._call(f"{which}_takes", number, ctypes.byref(registers), ctypes.byref(shared))
        return registers.value, shared.value
