"""What `orrery capture` needs beyond what measuring does."""

from doctor.findings import LIMITED, MISSING, OK, Finding

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
    mend = "install the Compute Sanitizer of the CUDA toolkit 13 (package cuda-sanitizer)"
    library = machine.find_library("libsanitizer-public.so") or (
        f"/{_SANITIZER}/libsanitizer-public.so" if machine.exists(f"{_SANITIZER}/libsanitizer-public.so") else None)
    if library is None:
        return Finding("sanitizer library", MISSING, "no libsanitizer-public.so", why, mend)
    if not machine.exists(f"{_SANITIZER}/include/sanitizer.h"):
        return Finding("sanitizer library", MISSING, f"{library}, without its headers", why, mend)
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
                       "capture --accesses outside of the sandbox; capture without it may work inside")
    return Finding("sandbox", OK, "none", why)


def all_findings(machine):
    return [compiler(machine), cupti_header(machine), sanitizer(machine), other_tool(machine), sandbox(machine)]
