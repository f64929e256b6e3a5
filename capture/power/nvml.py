"""Power, energy and clocks of one GPU, read through NVML's C interface; pynvml need not be installed."""

import ctypes
import threading
import time

_INSTANT_POWER = 186  # NVML_FI_DEV_POWER_INSTANT; the plain call averages over a second on Hopper
_SM, _MEMORY = 1, 2


class NoNvml(Exception):
    """The library is missing or refuses; the text says why."""


class _FieldValue(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency_us", ctypes.c_longlong), ("value_type", ctypes.c_uint), ("status", ctypes.c_uint),
                ("value", ctypes.c_ulonglong)]


class Gpu:
    """The first GPU that CUDA shows."""

    def __init__(self, library="libnvidia-ml.so.1"):
        try:
            self._nvml = ctypes.CDLL(library)
        except OSError as error:
            raise NoNvml(f"{library} cannot be loaded ({error})") from error
        self._check(self._nvml.nvmlInit_v2(), "nvmlInit")
        self._handle = ctypes.c_void_p()
        self._check(self._nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self._handle)), "handle")

    @staticmethod
    def _check(status, what):
        if status != 0:
            raise NoNvml(f"NVML's {what} failed with {status}")

    def _number(self, function, *arguments, kind=ctypes.c_uint):
        value = kind()
        self._check(getattr(self._nvml, function)(self._handle, *arguments, ctypes.byref(value)), function)
        return value.value

    def energy_j(self):
        return self._number("nvmlDeviceGetTotalEnergyConsumption", kind=ctypes.c_ulonglong) / 1e3

    def limit_w(self):
        return self._number("nvmlDeviceGetEnforcedPowerLimit") / 1e3

    def power_w(self):
        field = _FieldValue(field=_INSTANT_POWER)
        status = self._nvml.nvmlDeviceGetFieldValues(self._handle, 1, ctypes.byref(field))
        if status == 0 and field.status == 0:
            return (field.value & 0xFFFFFFFF) / 1e3
        return self._number("nvmlDeviceGetPowerUsage") / 1e3

    def sm_mhz(self):
        return self._number("nvmlDeviceGetClockInfo", _SM)

    def memory_mhz(self):
        return self._number("nvmlDeviceGetClockInfo", _MEMORY)

    def celsius(self):
        return self._number("nvmlDeviceGetTemperature", 0)


class Sampler:
    """Reads a GPU every few milliseconds between start and stop, in a thread."""

    def __init__(self, gpu, seconds=0.02):
        self._gpu = gpu
        self._seconds = seconds
        self._rows = []
        self._ends = threading.Event()
        self._thread = None

    def __enter__(self):
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _read(self):
        while not self._ends.is_set():
            self._rows.append((time.monotonic(), self._gpu.power_w(), self._gpu.sm_mhz(), self._gpu.memory_mhz()))
            self._ends.wait(self._seconds)

    def means(self, since):
        """Mean watts, SM and memory clock of what was read after `since`."""
        rows = [row[1:] for row in self._rows if row[0] >= since] or [row[1:] for row in self._rows[-1:]]
        return tuple(sum(column) / len(rows) for column in zip(*rows)) if rows else (0.0, 0.0, 0.0)
