#!/usr/bin/env python3
"""Installs Orrery into a folder, and builds and runs examples/cpp against what is there.

    tests/install/check_library.py --build build

Nothing of the repository is in the include path of the examples. They are built with the CMake package and the shared library; one
of them again with the static library, another one with pkg-config. What they print is compared with the installed program.
"""

import collections
import json
import os
import re

from commands import ROOT, expect, run, said

JOB = ROOT / "examples" / "llama3-8b-fsdp-64-h100.yaml"
RUN = ROOT / "tests" / "data" / "kineto" / "two_ranks"



# --- What is installed


def check_headers(prefix, scratch):
    """Every installed header compiles with nothing but what is installed, in a program with other warnings than ours."""
    headers = sorted(path.relative_to(prefix / "include") for path in (prefix / "include" / "orrery" / "api").glob("*.h"))
    expect(headers, "no header of orrery/api was installed")
    source = scratch / "headers.cc"
    source.write_text("".join(f'#include "{header}"\n' for header in headers), encoding="utf-8")
    said("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{prefix / 'include'}", source)


def check_exports(library):
    """The shared library shows what ORRERY_API marks and nothing else."""
    shown = said("nm", "--dynamic", "--defined-only", "--demangle", "--format=just-symbols", library).split("\n")
    foreign = [name for name in shown if name and "orrery::" not in name and not name.startswith("ORRERY_")]
    expect(any(name.startswith("orrery::api::Simulate(") for name in shown), f"{library} lacks orrery::api::Simulate")
    foreign += [name for name in shown if name.startswith("orrery::simulate::")]
    expect(not foreign, f"{library} shows {', '.join(foreign[:5])}")


def check_installed(prefix):
    for name in ("bin/orrery", "share/man/man1/orrery-simulate.1", "share/bash-completion/completions/orrery", "lib/liborrery.a",
                 "lib/liborrery.so", "share/orrery/capture/README.md", "share/doc/orrery/LICENSE", "share/doc/orrery/NOTICE"):
        expect((prefix / name).exists(), f"{name} was not installed")
    texts = {path.read_text(encoding="utf-8", errors="replace") for path in prefix.rglob("*") if path.suffix in (".cmake", ".pc")}
    expect(not any(str(ROOT) in text for text in texts), "an installed file names the folder of the repository")


# --- The examples


def built(source, folder, prefix):
    said("cmake", "-G", "Ninja", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++",
         "-DCMAKE_CXX_FLAGS=-O0", f"-DEXAMPLES={ROOT / 'examples' / 'cpp'}")
    said("cmake", "--build", folder)
    return folder


def built_by_pkg_config(source, program, prefix):
    options = said("pkg-config", "--cflags", "--libs", "orrery", env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")})
    said("g++", "-std=c++20", "-O0", source, "-o", program, f"-Wl,-rpath,{prefix / 'lib'}", *options.split())


def answer(program, *words):
    return json.loads(said(program, *words, "--json"))


def check_sweep(example, program):
    """Each line of the sweep is what the program says of that plan."""
    rows = [line.split() for line in said(example, JOB, "plan.tp", "1", "2").splitlines()[1:]]
    expect([row[0] for row in rows] == ["1", "2"], f"{example} printed {rows}")
    for setting, seconds, *_ in rows:
        step = answer(program, "simulate", JOB, "--set", f"plan.tp={setting}", "--step-only")["step_time_s"]
        expect(abs(float(seconds) - step) <= 5e-7, f"plan.tp={setting}: the example says {seconds} s, the program {step} s")


def kernel_milliseconds(folder):
    """{name: sum} of the profiles in a folder, by plain Python."""
    sums = collections.Counter()
    for path in folder.glob("*.json"):
        for event in json.loads(path.read_text(encoding="utf-8"))["traceEvents"]:
            if event.get("cat") == "kernel":
                sums[event["name"]] += event["dur"] * 1e-3
    return sums


def check_sum(example):
    lines = [line.split(" ms  ", 1) for line in said(example, RUN).splitlines()]
    printed, expected = {name: float(sum_ms) for sum_ms, name in lines}, kernel_milliseconds(RUN)
    expect(printed.keys() == expected.keys() and all(abs(printed[name] - expected[name]) < 1e-3 for name in printed),
           f"{example} says {printed}, and the files {dict(expected)}")


def check_cost_model(example):
    """GEMMs at half the speed make a step longer."""
    shipped, own = (float(found) for found in re.findall(r"^([\d.]+) s ", said(example, JOB), re.MULTILINE))
    expect(own > shipped, f"{example} says {shipped} s with the shipped model and {own} s with slower GEMMs")


def check(build, scratch):
    prefix = scratch / "prefix"
    said("cmake", "--install", build, "--prefix", prefix)
    program = prefix / "bin" / "orrery"
    check_installed(prefix)
    check_exports(prefix / "lib" / "liborrery.so")
    check_headers(prefix, scratch)

    examples = built(ROOT / "examples" / "cpp", scratch / "shared", prefix)
    check_sweep(examples / "sweep_plans", program)
    check_sum(examples / "sum_kernels")
    check_cost_model(examples / "own_cost_model")

    check_sweep(built(ROOT / "tests" / "install" / "static", scratch / "static", prefix) / "sweep_plans", program)
    built_by_pkg_config(ROOT / "examples" / "cpp" / "sum_kernels.cc", scratch / "sum_kernels", prefix)
    check_sum(scratch / "sum_kernels")


if __name__ == "__main__":
    run(check, __doc__)
