"""The checks of doctor: one function for each requirement of measuring and capture."""

import dataclasses
import json

import building
from doctor import programs

OK, LIMITED, MISSING = "ok", "limited", "missing"


@dataclasses.dataclass
class Finding:
    """One thing that measuring needs or uses."""

    name: str
    state: str
    found: str      # version and place, or what was seen instead
    why: str        # purpose
    fix: str = ""  # one line; empty where nothing is to be fixed

    @property
    def is_ok(self):
        return self.state == OK


def _last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""


def _torch_answer(machine):
    """(what PyTorch says of itself, "") or (None, why not)."""
    said = machine.ask_torch()
    if said is None:
        return None, "python3 does not start"
    try:
        return json.loads(_last_line(said[1])), ""
    except ValueError:
        return None, _last_line(said[1])


def torch(machine):
    why = "measure kernels, collectives and overlap call its operators"
    answer, reason = _torch_answer(machine)
    if answer is None:
        return Finding("pytorch", MISSING, reason, why,
                       f"{machine.python} -m pip install torch, or run orrery-capture with the "
                       "python3 that has it")
    found = f"{answer['torch']} by {machine.python}"
    if not answer["cuda"]:
        return Finding("pytorch", LIMITED, f"{found}, built without CUDA", why,
                       "install a build with CUDA, see pytorch.org")
    found += f", CUDA {answer['cuda']}"
    if not answer["gpus"]:
        return Finding("pytorch", LIMITED, f"{found}, sees no GPU", why,
                       "look at CUDA_VISIBLE_DEVICES, and whether the driver knows this CUDA")
    return Finding("pytorch", OK, f"{found}, sees {answer['gpus']} GPU(s)", why)


def gpu(machine):
    why = "everything is measured on it"
    smi = machine.find("nvidia-smi")
    if smi is None:
        return Finding("gpu", MISSING, "no nvidia-smi", why,
                       "install NVIDIA's driver, or give the container the GPUs (--gpus all)")
    said = machine.output(smi, "--query-gpu=name,driver_version", "--format=csv,noheader")
    if said is None or said[0] != 0 or "," not in said[1]:
        return Finding("gpu", MISSING, _last_line(said[1]) if said else "nvidia-smi does not run",
                       why, "load the driver's module (modprobe nvidia), or restart the machine")
    rows = [[word.strip() for word in line.split(",")] for line in said[1].splitlines() if line]
    names = sorted({row[0] for row in rows})
    return Finding("gpu", OK, f"{len(rows)} × {', '.join(names)}, driver {rows[0][-1]}", why)


_TOOLS = {
    "nvcc": ("measure overlap and ceilings build their kernels with it",
             "install the CUDA toolkit, or put its bin folder into $PATH"),
    "ncu": ("hardware counters of measure overlap; without it pairs have launch data only",
            "install Nsight Compute (package nsight-compute), or put it into $PATH"),
    "nsys": ("records runs that orrery info, analyze and fit overlap --from-traces read",
             "install Nsight Systems (package nsight-systems), or put it into $PATH"),
    "compute-sanitizer": ("checks changes of our own kernels; no measurement needs it",
                          "install the CUDA toolkit, or put its bin folder into $PATH"),
}


def tool(machine, name):
    """A program of NVIDIA's, with its version."""
    why, fix = _TOOLS[name]
    place = machine.find(name)
    if place is None:
        return Finding(name, MISSING, "not in $PATH", why, fix)
    said = machine.output(place, "--version")
    if said is None or said[0] != 0:
        what = f": {_last_line(said[1])}" if said and said[1].strip() else ""
        return Finding(name, MISSING, f"{place} does not run{what}", why, fix)
    return Finding(name, OK, f"{programs.version_in(said[1]) or 'unknown version'} at {place}", why)


def counters(machine):
    """Checks that the driver lets this user read counters."""
    why = "ncu reads counters only where the driver allows it"
    parameters = machine.read("proc/driver/nvidia/params")
    if parameters is None:
        return Finding("counters", MISSING, "the driver is not loaded", why,
                       "install and load NVIDIA's driver")
    restricted = "RmProfilingAdminOnly: 1" in parameters
    if not restricted:
        return Finding("counters", OK, "for all users", why)
    if machine.is_root:
        return Finding("counters", OK, "for administrators, and this is one (a container may still "
                                       "lack CAP_SYS_ADMIN)", why)
    return Finding("counters", LIMITED, "for administrators only", why,
                   "run as root, or write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` "
                   "into /etc/modprobe.d/ and reload the module")


def _library(machine, name, pattern, why, fix):
    place = machine.find_library(pattern)
    if place is None:
        return Finding(name, MISSING, f"no {pattern}", why, fix)
    return Finding(name, OK, place, why)


def cupti(machine):
    return _library(machine, "cupti", "libcupti*.so*",
                    "times of single kernels come from it, through PyTorch",
                    "it comes with PyTorch's wheels and the CUDA toolkit (package cuda-cupti)")


def nccl(machine):
    return _library(machine, "nccl", "libnccl.so*",
                    "measure collectives and measure overlap --nccl call it",
                    "it comes with PyTorch's wheels; or install the package libnccl2")


def all_findings(machine):
    """In the order in which they are fixed."""
    tools = {name: tool(machine, name) for name in _TOOLS}
    return [gpu(machine), torch(machine), cupti(machine), tools["nvcc"], tools["ncu"],
            counters(machine), nccl(machine), tools["nsys"], tools["compute-sanitizer"]]


_ROOMS = ("usr/local/cuda/include", "usr/local/cuda/extras/CUPTI/include")
_SANITIZER = "usr/local/cuda/compute-sanitizer"
# Variables that bring a tool into every CUDA program.
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def compiler(machine):
    why = "capture builds its libraries with it, on the machine"
    place = machine.find("g++")
    if place is None:
        return Finding("g++", MISSING, "not in $PATH", why, "install g++ 12 or newer (package g++)")
    return Finding("g++", OK, place, why)


def cupti_header(machine):
    why = "capture builds its library for CUPTI with it"
    for room in _ROOMS:
        if machine.exists(f"{room}/cupti.h"):
            return Finding("cupti.h", OK, f"/{room}/cupti.h", why)
    return Finding("cupti.h", MISSING, "not in /usr/local/cuda", why, "install the CUDA toolkit 13 (package cuda-cupti-dev)")


def sanitizer(machine):
    """The library that shows the accesses of kernels, and its headers."""
    why = "capture --accesses sees memory accesses through it"
    fix = "install the Compute Sanitizer of the CUDA toolkit 13 (package cuda-sanitizer)"
    library = machine.find_library("libsanitizer-public.so") or (
        f"/{_SANITIZER}/libsanitizer-public.so" if machine.exists(f"{_SANITIZER}/libsanitizer-public.so") else None)
    if library is None:
        return Finding("sanitizer library", MISSING, "no libsanitizer-public.so", why, fix)
    if not machine.exists(f"{_SANITIZER}/include/sanitizer.h"):
        return Finding("sanitizer library", MISSING, f"{library}, without its headers", why, fix)
    return Finding("sanitizer library", OK, library, why)


def other_tool(machine):
    why = "one tool at a time can watch a CUDA program"
    held = [f"{name}={machine.variable(name)}" for name in _INJECTIONS if machine.variable(name)]
    if held:
        return Finding("other tool", LIMITED, ", ".join(held), why,
                       "unset it, or do not run under nsys, ncu, cuda-gdb or another capture")
    return Finding("other tool", OK, "none", why)


def sandbox(machine):
    """A kernel in user space, where the Sanitizer answers "Device not supported"."""
    why = "the Compute Sanitizer needs the driver itself, not a stand-in"
    version = machine.read("proc/version") or ""
    is_sandbox = "gVisor" in version or version.startswith("Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016")
    if is_sandbox:
        return Finding("sandbox", LIMITED, "gVisor", why,
                       "run capture --accesses outside the sandbox; capture without it may work inside")
    return Finding("sandbox", OK, "none", why)


def build_folder(machine):
    """Checks the folder of this user's builds."""
    why = "capture and measure build their libraries there, on first use"
    try:
        building.cache(machine.variables)
    except building.BuildError as error:
        return Finding("build folder", MISSING, "none", why, str(error))
    return Finding("build folder", OK, "in the user's cache", why)


def capture_findings(machine):
    return [build_folder(machine), compiler(machine), cupti_header(machine), sanitizer(machine), other_tool(machine), sandbox(machine)]
