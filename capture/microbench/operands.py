"""Operands on the GPU: views into a few big random buffers, so that no call pays for making them."""

import math

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32,
          "tf32": torch.float32, "fp8": torch.float8_e4m3fn, "fp64": torch.float64,
          "int8": torch.int8, "int32": torch.int32, "int64": torch.int64, "bool": torch.bool}

_ALIGNMENT_BYTES = 256
_GIB = 1 << 30
# Buffer sizes in GiB on a GPU of 140 GiB; smaller GPUs get their share.
_BUFFER_GIB = {"bf16": 18, "fp32": 18, "fp16": 12, "fp8": 4, "int64": 2, "bool": 2}
_FULL_GPU_BYTES = 140 * _GIB


class TooLarge(Exception):
    """An operand does not fit into its buffer; the configuration is left out."""


def _chunks(buffer, elements=1 << 28):
    for start in range(0, buffer.numel(), elements):
        yield buffer[start:start + elements]


def _fill(buffer, name):
    for chunk in _chunks(buffer):
        if name == "fp8":
            chunk.copy_(torch.randn(chunk.numel(), device="cuda", dtype=torch.bfloat16))
        elif name == "int64":
            chunk.random_(0, 1000)
        elif name == "bool":
            chunk.random_(0, 2)
        else:
            chunk.normal_()


class Operands:
    """Hands out read-only random tensors at rotating aligned offsets."""

    def __init__(self, seed, share=1.0):
        torch.manual_seed(seed)
        total = torch.cuda.get_device_properties(0).total_memory
        self._share = share * min(1.0, total / _FULL_GPU_BYTES)
        self._buffer_of_dtype = {}
        self._next_of_dtype = {}
        self._host_of_pinning = {}

    def host(self, size_bytes, pinned):
        """Returns bytes of host memory; page-locking is slow, so there is one buffer of each."""
        if pinned not in self._host_of_pinning:
            self._host_of_pinning[pinned] = torch.ones(_GIB, dtype=torch.int8, pin_memory=pinned)
        return self._host_of_pinning[pinned][:size_bytes]

    def _buffer(self, name):
        if name not in self._buffer_of_dtype:
            dtype = DTYPES[name]
            count = int(_BUFFER_GIB[name] * self._share * _GIB) // dtype.itemsize
            buffer = torch.empty(count, device="cuda", dtype=dtype)
            _fill(buffer, name)
            self._buffer_of_dtype[name] = buffer
            self._next_of_dtype[name] = 0
        return self._buffer_of_dtype[name]

    def flat(self, count, dtype):
        """Returns `count` random elements; never to be written."""
        name = "fp32" if dtype == "tf32" else dtype
        buffer = self._buffer(name)
        if count > buffer.numel():
            raise TooLarge(f"{count} elements of {name}")
        start = self._next_of_dtype[name]
        if start + count > buffer.numel():
            start = 0
        step = _ALIGNMENT_BYTES // buffer.element_size()
        self._next_of_dtype[name] = start + (count + step - 1) // step * step + step
        return buffer[start:start + count]

    def get(self, shape, dtype):
        """Returns a contiguous random tensor; never to be written."""
        return self.flat(math.prod(shape), dtype).view(shape)

    def stored(self, rows, cols, dtype, letter):
        """Returns a (rows, cols) matrix stored row major (n) or transposed (t)."""
        if letter == "n":
            return self.get((rows, cols), dtype)
        return self.get((cols, rows), dtype).t()

    def image(self, shape, dtype, nhwc):
        """Returns a (b, c, h, w) tensor in one of the two memory formats."""
        if not nhwc:
            return self.get(shape, dtype)
        b, c, h, w = shape
        return self.get((b, h, w, c), dtype).permute(0, 3, 1, 2)


def scratch(shape, dtype):
    """Returns a tensor that may be written; its values do not matter."""
    return torch.zeros(shape, device="cuda", dtype=DTYPES[dtype])


def indices(rows, count, hundred_zipf=0, dtype=torch.int64):
    """Draws `count` row numbers below `rows`, uniform or by a Zipf law with exponent/100."""
    if hundred_zipf == 0 or rows < 3:
        return torch.randint(0, rows, (count,), device="cuda", dtype=dtype)
    # The inverse of the continuous law's distribution; rank r has probability ~ r^-a.
    u = torch.rand(count, device="cuda", dtype=torch.float64)
    a = hundred_zipf / 100.0
    if hundred_zipf == 100:
        rank = torch.exp(u * torch.log(torch.tensor(float(rows), device="cuda")))
    else:
        rank = (1.0 + u * (rows ** (1.0 - a) - 1.0)) ** (1.0 / (1.0 - a))
    number = (rank.long() - 1).clamp_(0, rows - 1)
    # Frequent rows are spread over the table, as hashing spreads them.
    stride = _coprime_stride(rows)
    return (number * stride % rows).to(dtype)


def _coprime_stride(rows):
    stride = int(rows * 0.618) | 1
    while math.gcd(stride, rows) != 1:
        stride += 2
    return stride


def zipf_counts(total, groups, hundred_exponent):
    """Splits `total` over groups by a Zipf law; each count is an integer and they add up."""
    weights = [(rank + 1) ** -(hundred_exponent / 100.0) for rank in range(groups)]
    scale = total / sum(weights)
    ends, reached = [], 0.0
    for weight in weights:
        reached += weight * scale
        ends.append(round(reached))
    ends[-1] = total
    return [end - begin for begin, end in zip([0] + ends, ends)]
