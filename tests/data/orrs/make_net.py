#!/usr/bin/env python3
"""Writes an event stream (docs/formats/orrs.md) of one training step of a network that does not exist.

    make_net.py pooled FILE    tensors of some MiB share segments of 80 MiB, of which an operator uses a part
    make_net.py full FILE      each tensor fills a segment of its own
    make_net.py steps FILE     as full, with 2,000 launches

Kernels touch their tensors in full, at a terabyte a second; the allocator takes the first segment with room and keeps
segments for ever. For golden cases and for timing the memory tools.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from orrs_writer import file_header, sealed_chunk, varint, zigzag  # noqa: E402

MIB = 1 << 20
SEGMENT, TENSOR = 1, 2
SEGMENT_CLASS, TENSOR_CLASS = 4, 5
EXACT = 1
NETS = {  # segment, weight, output, scratch, layers
    "pooled": (80 * MIB, 6 * MIB, 20 * MIB, 12 * MIB, 20),
    "full": (2 * MIB, 112 * MIB, 96 * MIB, 192 * MIB, 12),
    "steps": (2 * MIB, 14 * MIB, 24 * MIB, 48 * MIB, 400),
}


def text(value):
    return varint(len(value.encode())) + value.encode()


class Stream:
    """A chunk for each record, so that all differences count from zero."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(file_header())
        self.sequence = 0

    def record(self, chunk, kind, *fields, sequence=0):
        body = varint(kind) + b"".join(fields)
        payload = varint(len(body)) + body
        self.file.write(sealed_chunk(chunk, sequence, 1, payload))

    def event(self, kind, *fields):
        self.sequence += 1
        self.record(6, kind, zigzag(0), zigzag(100 * self.sequence), varint(1), *fields, sequence=self.sequence)
        return self.sequence

    def close(self):
        self.record(11, 1, varint(9))
        self.file.close()


class Net:
    def __init__(self, stream, segment_bytes):
        self.stream = stream
        self.segment_bytes = segment_bytes
        self.segments = []  # [address, bytes, {address of a tensor: bytes}]
        self.num_objects = 0
        self.next_address = 1 << 40
        for number, name in enumerate(("kernel", "forward", "backward", "update"), start=1):
            stream.record(2, 1, varint(number), text(name))
        stream.record(1, 2, varint(0), text("NVIDIA A100-SXM4-80GB"))
        stream.record(5, 1, varint(1), varint(0), varint(1))

    def born(self, address, size, level, before):
        self.num_objects += 1
        if before:
            memory_class = SEGMENT_CLASS if level == SEGMENT else TENSOR_CLASS
            self.stream.record(7, 1, zigzag(self.num_objects), zigzag(address), varint(size), varint(memory_class))
        else:
            self.stream.event(3, zigzag(self.num_objects), zigzag(address), varint(size), varint(level))
        return self.num_objects

    def place(self, size, before):
        for segment in self.segments:
            at = segment[0]
            for address in sorted(segment[2]):
                if address - at >= size:
                    break
                at = address + segment[2][address]
            later = [address for address in segment[2] if address >= at]
            if min(later, default=segment[0] + segment[1]) - at >= size:
                return segment, at
        segment = [self.next_address, max(size, self.segment_bytes), {}]
        self.next_address += (segment[1] // (2 * MIB) + 1) * 2 * MIB
        self.segments.append(segment)
        self.born(segment[0], segment[1], SEGMENT, before)
        return segment, segment[0]

    def tensor(self, size, before=False):
        segment, address = self.place(size, before)
        segment[2][address] = size
        return self.born(address, size, TENSOR, before), size, segment, address

    def free(self, tensor):
        number, _, segment, address = tensor
        del segment[2][address]
        self.stream.event(4, zigzag(number), zigzag(address), varint(TENSOR))

    def begin(self, name):
        return self.stream.event(11, varint(name))

    def end(self, begin):
        self.stream.event(12, zigzag(begin))

    def kernel(self, *tensors):
        duration_ns = sum(tensor[1] for tensor in tensors) // 1000 + 1000
        shape = [varint(1)] * 6
        launch = self.stream.event(7, varint(1), *[varint(0)] * 4, *shape, varint(EXACT), varint(duration_ns + 1))
        for tensor in tensors:
            self.stream.record(8, 1, zigzag(launch), zigzag(tensor[0]), varint(tensor[1]))


FORWARD, BACKWARD, UPDATE = 2, 3, 4


def training_step(net, weight_bytes, output_bytes, scratch_bytes, num_layers):
    outputs = [net.tensor(output_bytes, before=True)]
    weights = [net.tensor(weight_bytes, before=True) for _ in range(num_layers)]
    for weight in weights:
        begin = net.begin(FORWARD)
        scratch = net.tensor(scratch_bytes)
        outputs.append(net.tensor(output_bytes))
        net.kernel(outputs[-2], scratch)
        net.kernel(scratch, weight, outputs[-1])
        net.free(scratch)
        net.end(begin)
    incoming = net.tensor(output_bytes)
    gradients = []
    for weight in reversed(weights):
        begin = net.begin(BACKWARD)
        outgoing = net.tensor(output_bytes)
        gradients.append(net.tensor(weight_bytes))
        net.kernel(incoming, weight, outgoing)
        net.kernel(incoming, outputs[-2], gradients[-1])
        net.free(incoming)
        net.free(outputs.pop())
        incoming = outgoing
        net.end(begin)
    for weight, gradient in zip(weights, reversed(gradients)):
        begin = net.begin(UPDATE)
        net.kernel(weight, gradient)
        net.end(begin)


def main():
    kind, path = sys.argv[1:]
    segment_bytes, *sizes = NETS[kind]
    stream = Stream(path)
    training_step(Net(stream, segment_bytes), *sizes)
    stream.close()


if __name__ == "__main__":
    main()
