"""Device, host and versions where a rank was traced, and which versions of PyTorch the tracer supports."""

import os
import platform


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file
                     if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def _cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _version(module):
    import importlib.metadata
    try:
        return importlib.metadata.version(module)
    except importlib.metadata.PackageNotFoundError:
        return None


def _driver():
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
    except OSError:
        return ""
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


def of_this_process():
    """Sections `device`, `host` and `versions` of trace.json; needs PyTorch."""
    import torch
    device = torch.cuda.get_device_properties(0)
    versions = {"python": platform.python_version(), "torch": torch.__version__,
                "cuda": torch.version.cuda or ""}
    versions.update({name: _version(name) for name in ("transformers", "torchvision")
                     if _version(name)})
    return {"device": {"name": device.name, "memory_bytes": device.total_memory,
                       "multiprocessors": device.multi_processor_count, "driver": _driver()},
            "host": {"processor": _processor(), "cores": _cores()}, "versions": versions}


OLDEST = (2, 3)
TESTED = (2, 11)


def _numbers(text):
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in text.split(".")[:2])


def _shown(version):
    return ".".join(str(part) for part in version)


def version_refusal(text):
    """Why this version cannot be used; empty where it can."""
    if _numbers(text) >= OLDEST:
        return ""
    return (f"PyTorch {_shown(_numbers(text))} is too old: the tracer needs {_shown(OLDEST)} to "
            f"{_shown(TESTED)} (tested: {_shown(TESTED)})")


def version_remark(text):
    """Returns a remark on the version for readers of the recording; empty if there is none."""
    if _numbers(text) <= TESTED:
        return ""
    return (f"PyTorch {_shown(_numbers(text))} is newer than the tracer was tested with "
            f"({_shown(TESTED)}).")
