#!/usr/bin/env python3
"""Tests of the doctor on machines made of folders and shell scripts."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CAPTURE))

from doctor import command_line, findings, programs  # noqa: E402
from doctor.programs import Machine  # noqa: E402

_TORCH = '{"torch": "2.11.0+cu130", "cuda": "13.0", "gpus": 2}'
_VERSIONS = {
    "nvcc": "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88",
    "ncu": "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA\n"
           "Version 2025.3.1.0 (build 36398880) (public-release)",
    "nsys": "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0",
    "compute-sanitizer": "NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (build 1)",
    "nvidia-smi": "NVIDIA H200, 580.159.04\nNVIDIA H200, 580.159.04",
}


class FakeMachine:
    """A root folder with bin/, a python3 and the driver's parameters."""

    def __init__(self, case):
        folder = tempfile.TemporaryDirectory()
        case.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "bin").mkdir()
        self.script("python3", "ModuleNotFoundError: No module named 'torch'", status=1)

    def script(self, name, text, status=0):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        path.chmod(0o755)

    def file(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def full(self):
        for name, text in _VERSIONS.items():
            self.script(name, text)
        self.script("python3", _TORCH)
        self.file("usr/local/cuda/lib64/libcupti.so.13")
        self.file("usr/lib64/libnccl.so.2")
        self.file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
        self.script("g++", "g++ 12")
        self.file("usr/local/cuda/include/cupti.h")
        self.file("usr/local/cuda/compute-sanitizer/libsanitizer-public.so")
        self.file("usr/local/cuda/compute-sanitizer/include/sanitizer.h")
        return self

    def machine(self, is_root=False, variables=None):
        return Machine(str(self.root / "bin" / "python3"), str(self.root / "bin"), str(self.root),
                       is_root, library_path="", variables=variables or {})

    def report(self, as_json=False):
        """Returns the output without the folder's name, and the exit status."""
        shown, status = command_line.report(self.machine(), as_json)
        return shown.replace(str(self.root), ""), status


class DoctorTest(unittest.TestCase):
    maxDiff = None

    def test_where_all_is_there_nothing_is_to_be_fixed(self):
        shown, status = FakeMachine(self).full().report()
        self.assertEqual(status, 0)
        self.assertEqual(shown, """\
ok       gpu                2 × NVIDIA H200, driver 580.159.04
ok       pytorch            2.11.0+cu130 by /bin/python3, CUDA 13.0, sees 2 GPU(s)
ok       cupti              /usr/local/cuda/lib64/libcupti.so.13
ok       nvcc               13.0 at /bin/nvcc
ok       ncu                2025.3.1.0 at /bin/ncu
ok       counters           for all users
ok       nccl               /usr/lib64/libnccl.so.2
ok       nsys               2025.3.2.474 at /bin/nsys
ok       compute-sanitizer  2025.3.1.0 at /bin/compute-sanitizer
ok       build folder       in the user's cache
ok       g++                /bin/g++
ok       cupti.h            /usr/local/cuda/include/cupti.h
ok       sanitizer library  /usr/local/cuda/compute-sanitizer/libsanitizer-public.so
ok       other tool         none
ok       sandbox            none

works          measure kernels
works          measure collectives
works          measure ceilings
works          measure overlap
works          counters of measure overlap
works          capture
works          capture --accesses""")

    def test_where_nothing_is_there_each_line_says_why_and_how_to_fix(self):
        shown, status = FakeMachine(self).report()
        self.assertEqual(status, 2)
        self.assertEqual(shown, """\
missing  gpu                no nvidia-smi
                            why:  everything is measured on it
                            fix:  install NVIDIA's driver, or give the container the GPUs (--gpus all)
missing  pytorch            ModuleNotFoundError: No module named 'torch'
                            why:  measure kernels, collectives and overlap call its operators
                            fix:  /bin/python3 -m pip install torch, or run orrery-capture with the python3 that has it
missing  cupti              no libcupti*.so*
                            why:  times of single kernels come from it, through PyTorch
                            fix:  it comes with PyTorch's wheels and the CUDA toolkit (package cuda-cupti)
missing  nvcc               not in $PATH
                            why:  measure overlap and ceilings build their kernels with it
                            fix:  install the CUDA toolkit, or put its bin folder into $PATH
missing  ncu                not in $PATH
                            why:  hardware counters of measure overlap; without it pairs have launch data only
                            fix:  install Nsight Compute (package nsight-compute), or put it into $PATH
missing  counters           the driver is not loaded
                            why:  ncu reads counters only where the driver allows it
                            fix:  install and load NVIDIA's driver
missing  nccl               no libnccl.so*
                            why:  measure collectives and measure overlap --nccl call it
                            fix:  it comes with PyTorch's wheels; or install the package libnccl2
missing  nsys               not in $PATH
                            why:  records runs that orrery info, analyze and fit overlap --from-traces read
                            fix:  install Nsight Systems (package nsight-systems), or put it into $PATH
missing  compute-sanitizer  not in $PATH
                            why:  checks changes of our own kernels; no measurement needs it
                            fix:  install the CUDA toolkit, or put its bin folder into $PATH
ok       build folder       in the user's cache
missing  g++                not in $PATH
                            why:  capture builds its libraries with it, on the machine
                            fix:  install g++ 12 or newer (package g++)
missing  cupti.h            not in /usr/local/cuda
                            why:  capture builds its library for CUPTI with it
                            fix:  install the CUDA toolkit 13 (package cuda-cupti-dev)
missing  sanitizer library  no libsanitizer-public.so
                            why:  capture --accesses sees memory accesses through it
                            fix:  install the Compute Sanitizer of the CUDA toolkit 13 (package cuda-sanitizer)
ok       other tool         none
ok       sandbox            none

does not work  measure kernels (lacks gpu, pytorch, cupti)
does not work  measure collectives (lacks gpu, pytorch, nccl)
does not work  measure ceilings (lacks gpu, nvcc)
does not work  measure overlap (lacks gpu, pytorch, cupti, nvcc)
does not work  counters of measure overlap (lacks gpu, pytorch, cupti, nvcc, ncu, counters)
does not work  capture (lacks gpu, cupti, g++, cupti.h)
does not work  capture --accesses (lacks gpu, nvcc, g++, sanitizer library)""")

    def test_counters_for_administrators_only_stop_counters_alone(self):
        fake = FakeMachine(self).full()
        fake.file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n")
        found = json.loads(fake.report(as_json=True)[0])
        self.assertEqual(found["status"], 3)
        self.assertEqual([one["name"] for one in found["measurements"] if not one["works"]],
                         ["counters of measure overlap"])
        counters, = (one for one in found["findings"] if one["name"] == "counters")
        self.assertEqual((counters["state"], counters["found"]),
                         ("limited", "for administrators only"))
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", counters["mend"])

    def test_an_administrator_may_read_restricted_counters(self):
        fake = FakeMachine(self).full()
        fake.file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n")
        self.assertTrue(findings.counters(fake.machine(is_root=True)).is_ok)

    def test_ceilings_work_without_pytorch(self):
        fake = FakeMachine(self).full()
        fake.script("python3", "ModuleNotFoundError: No module named 'torch'", status=1)
        shown, status = fake.report()
        self.assertEqual(status, 3)
        self.assertIn("works          measure ceilings", shown)
        self.assertIn("does not work  measure kernels (lacks pytorch)", shown)

    def test_a_pytorch_without_cuda_or_without_gpus_is_limited(self):
        fake = FakeMachine(self)
        fake.script("python3", '{"torch": "2.11.0+cpu", "cuda": "", "gpus": 0}')
        self.assertIn("built without CUDA", findings.torch(fake.machine()).found)
        fake.script("python3", '{"torch": "2.11.0", "cuda": "13.0", "gpus": 0}')
        self.assertEqual(findings.torch(fake.machine()).state, "limited")

    def test_a_driver_that_does_not_answer_is_quoted(self):
        fake = FakeMachine(self)
        fake.script("nvidia-smi", "NVIDIA-SMI has failed because it couldn't communicate", status=9)
        gpu = findings.gpu(fake.machine())
        self.assertEqual((gpu.state, gpu.found),
                         ("missing", "NVIDIA-SMI has failed because it couldn't communicate"))

    def test_a_program_that_does_not_run_is_missing(self):
        fake = FakeMachine(self)
        fake.script("ncu", "libfoo.so: cannot open shared object file", status=127)
        self.assertEqual(findings.tool(fake.machine(), "ncu").state, "missing")

    def test_a_program_outside_the_search_path_is_found_and_the_newest_taken(self):
        fake = FakeMachine(self)
        for version in ("2024.9.1", "2024.10.0"):
            path = f"opt/nvidia/nsight-compute/{version}/ncu"
            fake.file(path, f"#!/bin/sh\necho Version {version}\n")
            (fake.root / path).chmod(0o755)
        self.assertIn("2024.10.0 at", findings.tool(fake.machine(), "ncu").found)

    def test_another_tool_stops_capture_alone(self):
        fake = FakeMachine(self).full()
        other = findings.other_tool(fake.machine(variables={"CUDA_INJECTION64_PATH": "/x/libother.so"}))
        self.assertEqual((other.state, other.found), ("limited", "CUDA_INJECTION64_PATH=/x/libother.so"))

    def test_a_user_who_can_write_nowhere_cannot_capture(self):
        with unittest.mock.patch("building._is_writable", lambda place: False):
            found = findings.build_folder(FakeMachine(self).full().machine())
        self.assertEqual((found.state, found.name), ("missing", "build folder"))
        self.assertIn("set XDG_CACHE_HOME", found.fix)

    def test_a_sandbox_stops_accesses(self):
        fake = FakeMachine(self).full()
        fake.file("proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n")
        shown, status = fake.report()
        self.assertEqual(status, 3)
        self.assertIn("does not work  capture --accesses (lacks sandbox)", shown)

    def test_a_sanitizer_without_headers_is_missing(self):
        fake = FakeMachine(self)
        fake.file("usr/local/cuda/compute-sanitizer/libsanitizer-public.so")
        self.assertIn("without its headers", findings.sanitizer(fake.machine()).found)

    def test_versions_are_read_as_each_program_prints_them(self):
        self.assertEqual([programs.version_in(_VERSIONS[name]) for name in ("nvcc", "ncu", "nsys")],
                         ["13.0", "2025.3.1.0", "2025.3.2.474"])
        self.assertEqual(programs.version_in("no number"), "")

    def test_the_verb_prints_what_its_status_says(self):
        ended = subprocess.run([sys.executable, str(_CAPTURE / "orrery-capture"), "doctor",
                                "--json"], capture_output=True, text=True, check=False)
        found = json.loads(ended.stdout)
        self.assertEqual(ended.returncode, found["status"])
        self.assertEqual(len(found["findings"]), 15)


if __name__ == "__main__":
    unittest.main()
