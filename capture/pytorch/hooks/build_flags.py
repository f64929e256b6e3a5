#!/usr/bin/env python3
"""Prints what the compiler needs to build against the installed PyTorch; used by capture/Makefile."""

import os
import sys


def flags(torch, cuda_home):
    """Include folders, the ABI of the standard library, and the libraries."""
    root = os.path.dirname(torch.__file__)
    include = os.path.join(root, "include")
    words = [f"-isystem{include}", f"-isystem{os.path.join(include, 'torch', 'csrc', 'api', 'include')}",
             f"-isystem{os.path.join(cuda_home, 'include')}",
             f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    library = os.path.join(root, "lib")
    return words, [f"-L{library}", f"-Wl,-rpath,{library}", "-lc10", "-lc10_cuda", "-ltorch_cpu"]


def main():
    import torch
    compile_words, link_words = flags(torch, os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    what = sys.argv[1]
    print({"compile": " ".join(compile_words), "link": " ".join(link_words),
           "version": torch.__version__}[what])


if __name__ == "__main__":
    main()
