#!/usr/bin/env python3
"""Builds the patches where nvcc is present and looks for every name of the list in the image.

ptxas refuses in patches what it allows in kernels (constant and shared memory, redux), so this
guards more than the syntax. Needs no GPU. Exit status 77: nvcc is not here.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DEVICE = pathlib.Path(__file__).resolve().parent
ROOT = DEVICE.parents[2]
TARGETS = ["80", "90"]


def find_nvcc():
    usual = pathlib.Path("/usr/local/cuda/bin/nvcc")
    return shutil.which("nvcc") or (str(usual) if usual.exists() else None)


def listed_patches():
    """Returns (instruction, patch, empty patch) of every line of the list."""
    text = (DEVICE / "patch_list.h").read_text()
    return re.findall(r"^  X\((\w+), (\w+), (\w+)\)", text, re.MULTILINE)


def compile_for(nvcc, target, folder):
    image = pathlib.Path(folder) / f"patches_{target}.cubin"
    subprocess.run([nvcc, "--cubin", "--compile-as-tools-patch", f"-arch=sm_{target}",
                    "-std=c++20", "-O3", f"-I{ROOT}", "-o", image, DEVICE / "patches.cu"],
                   check=True)
    return image.read_bytes()


def main():
    patches = listed_patches()
    assert len(patches) >= 5, "the list of patches could not be read"
    nvcc = find_nvcc()
    if nvcc is None:
        print("skipped: nvcc is not here")
        return 77
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            image = compile_for(nvcc, target, folder)
            # PASTA defect 12: a tool asked for a patch by a misspelt name.
            missing += [f"sm_{target}: {name}" for _, *names in patches for name in names
                        if b"\0.text." + name.encode() + b"\0" not in image]
    for name in missing:
        print(f"not in the image: {name}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
