"""The CUDA library in device/, called from Python."""

import ctypes

import building

MOST_BLOCKS = 264
PATTERNS = ("copy", "reduce_copy", "spin", "ll", "ll128")
PLACES = ("hbm", "l2", "host")
STAMPED_KINDS = ("moves", "computes", "waits")


_KINDS = {"u64": ctypes.c_uint64, "u32": ctypes.c_uint32, "i32": ctypes.c_int, "i64": ctypes.c_longlong,
          "u64x2": ctypes.c_uint64 * 2}


def _structure(name, **names_of_kind):
    """A structure of device/device.h; fields of one kind are listed together, in its order."""
    fields = [(field, _KINDS[kind.rstrip("_")]) for kind, names in names_of_kind.items() for field in names.split()]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


# One run of a pair; what one block of a communication-like kernel did; such a kernel; a compute kernel of our own.
Slot = _structure("Slot", u64="go_ns", u64x2="release_ns gate_ns gate_cycles",
                  u64_="first_begin_ns last_begin_ns last_end_ns", u32="phase timed_out")
BlockRecord = _structure("BlockRecord", u64="begin_ns mark_ns end_ns mark_bytes end_bytes cycles", u32="sm chunks")
Communication = _structure("Communication", i32="pattern place heavy blocks threads shared_bytes",
                           i64="chunk_bytes chunk_ns chunks_each longest_ns")
Stamped = _structure("Stamped", i32="kind blocks threads shared_bytes", i64="work_each")


class DeviceError(Exception):
    """The library is not there, or CUDA refused a call."""


def build():
    """The library for the GPU at hand, built where it is not there."""
    import torch
    architecture = "sm_%d%d" % torch.cuda.get_device_capability(0)
    try:
        return building.build("overlap", f"ARCH={architecture}", name=f"overlap-{architecture}",
                              about="the kernels of the overlap experiments") / "liboverlap.so"
    except building.BuildError as error:
        raise DeviceError(f"the kernels of the overlap experiments could not be built: {error} (make, and nvcc of the "
                          "CUDA toolkit in $PATH or in /usr/local/cuda/bin, are needed)") from error


class Device:
    """The streams, buffers and slots on the GPU."""

    def __init__(self, slots, device_bytes):
        self._library = ctypes.CDLL(str(build()))
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
