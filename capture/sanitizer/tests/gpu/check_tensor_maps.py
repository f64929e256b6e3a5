#!/usr/bin/env python3
"""Checks that kernels which load through tensor maps are attributed to the tensors they were given.

    check_tensor_maps.py [--out FOLDER]          on a machine with an H100 or newer and PyTorch

Records a product of bf16 matrices and an attention, whose operands no patch sees on Hopper, and compares the objects of their
launches with the addresses of the tensors. Ends with 1 where one is missing; objects beyond them are listed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

_CAPTURE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(_CAPTURE))

import orrs_reader  # noqa: E402


def program():
    """The recorded program: prints {region: {tensor: [address, bytes]}}."""
    import orrery
    import torch
    from torch.nn import functional
    left, right = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    query, key, value = (torch.randn(2, 32, 2048, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    torch.cuda.synchronize()
    with orrery.region("product"):
        product = torch.mm(left, right)
        torch.cuda.synchronize()
    with orrery.region("attention"):
        output = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        torch.cuda.synchronize()
    named = {"product": {"left": left, "right": right, "product": product},
             "attention": {"query": query, "key": key, "value": value, "output": output}}
    print(json.dumps({region: {name: [one.data_ptr(), one.nbytes] for name, one in tensors.items()}
                      for region, tensors in named.items()}))


def _regions(stream):
    texts, ends = stream.texts(), {end["begin"]: end["sequence"] for end in stream.records("RegionEnd")}
    return {texts[begin["name"]]: (begin["sequence"], ends[begin["sequence"]])
            for begin in stream.records("RegionBegin")}


def reached(stream, span):
    """{object: (address, bytes, how it is known)} of the launches in a region."""
    launches = {launch["sequence"] for launch, _ in stream.kernels() if span[0] < launch["sequence"] < span[1]}
    born = {one["object"]: one for one in stream.records("Allocation")}
    known = {}
    for how in ("LaunchArgument", "LaunchMap", "Touch"):
        for row in stream.records(how):
            if row["launch"] in launches and row["object"] in born:
                one = born[row["object"]]
                known.setdefault(row["object"], (one["address"], one["bytes"], how))
    return known


def compare(stream, expected):
    """Sentences about tensors that were not found, and objects that are none of them."""
    missing, beyond = [], []
    for region, tensors in expected.items():
        known = reached(stream, _regions(stream)[region])
        for name, (address, size) in tensors.items():
            if not any(begin <= address and address + size <= begin + length for begin, length, _ in known.values()):
                missing.append(f"{region}: {name} is not among the objects of its launches")
        addresses = {address for address, _ in tensors.values()}
        beyond += [f"{region}: {size} bytes at {begin:#x} by {how}, which is none of its tensors"
                   for begin, size, how in known.values() if begin not in addresses]
    return missing, beyond


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--program", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        program()
        return 0
    folder = options.out or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, str(_CAPTURE / "orrery-capture"), "capture", "--accesses", "--out",
             str(folder / "tensor-maps.orrs"), "--", sys.executable, __file__, "--program"]
    ended = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    missing, beyond = compare(orrs_reader.read(folder / "tensor-maps.orrs"), json.loads(ended.stdout))
    for line in missing + beyond:
        print(line)
    print(f"{len(missing)} tensors missing, {len(beyond)} other objects")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
