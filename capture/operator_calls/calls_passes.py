"""Operators that pass over their tensors several times: transforms by their lengths, packed sequences, histograms, grouped products."""

import torch
from torch import nn

from .calls_algebra import grouped
from .calls_rows import floats, plain, with_gradients

ONE = (1,)
TRANSFORMS = (
    ((4096, 256), (1,)), ((65536, 256), (1,)), ((1024, 4096), (1,)), ((4096, 4096), (1,)), ((256, 16384), (1,)), ((64, 65536), (1,)),
    ((16, 1 << 20), (1,)), ((8192, 1000), (1,)), ((2048, 1009), (1,)), ((1024, 4096), (0,)), ((64, 256, 256), (1,)),
    ((256, 64, 64), (1, 2)), ((2048, 64, 64), (1, 2)), ((512, 128, 128), (1, 2)), ((1536, 128, 128), (1, 2)), ((512, 256, 256), (1, 2)),
    ((64, 512, 512), (1, 2)), ((16, 1024, 1024), (1, 2)), ((256, 96, 96), (1, 2)), ((256, 100, 100), (1, 2)), ((256, 224, 224), (1, 2)),
    ((16, 64, 64, 64), (1, 2, 3)), ((128, 32, 32, 32), (1, 2, 3)), ((2, 128, 128, 128), (1, 2, 3)),
)
FORMS = {"real": lambda x, dims: torch.fft.irfftn(torch.fft.rfftn(x, dim=dims), s=[x.shape[d] for d in dims], dim=dims),
         "complex": lambda x, dims: torch.fft.ifftn(torch.fft.fftn(torch.complex(x, x), dim=dims), dim=dims).abs()}
# cell, layers, both directions, batch, steps, width, how often the batch gets smaller
PACKED = (
    ("LSTM", 1, False, 64, 100, 256, 0), ("LSTM", 1, False, 64, 100, 256, 10), ("LSTM", 1, False, 64, 100, 256, 50),
    ("LSTM", 1, True, 64, 100, 256, 50), ("LSTM", 2, False, 64, 100, 256, 50), ("LSTM", 2, True, 64, 100, 384, 50),
    ("LSTM", 3, True, 32, 60, 512, 20), ("GRU", 1, False, 64, 100, 256, 50), ("GRU", 1, True, 64, 100, 256, 50),
    ("GRU", 2, True, 64, 100, 384, 20), ("RNN", 1, True, 64, 100, 512, 50), ("LSTM", 2, True, 64, 100, 64, 50),
    ("GRU", 2, False, 128, 50, 1024, 25), ("LSTM", 1, True, 256, 40, 512, 10),
)


def transform(form, shape, dims):
    def make(_):
        count = 1
        for size in shape:
            count *= size
        return with_gradients(lambda x: FORMS[form](x, dims), torch.rand(count, device="cuda").view(shape))
    return make


def packed(cell, layers, both, batch, steps, width, changes):
    def make(_):
        layer = getattr(nn, cell)(width, width, layers, bidirectional=both).cuda()
        # Lengths in falling order with as many different ones as the batch gets smaller.
        lengths = [steps - min(changes, i * (changes + 1) // batch) for i in range(batch)]
        x = torch.rand(batch, steps, width, device="cuda", requires_grad=True)

        def call():
            together = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=True)
            layer(together)[0].data.sum().backward()

        return call
    return make


def histogram(bins):
    return lambda n: plain(lambda x: torch.histc(x, bins, 0, 1), floats(n))


def gathered(rows, cols, lookups):
    def make(_):
        places = torch.randint(0, rows, (lookups,), device="cuda")
        return with_gradients(lambda x: x[places], torch.rand(rows, cols, device="cuda"))
    return make


def calls():
    for form in FORMS:
        for shape, dims in TRANSFORMS:
            yield f"fft {form} {shape} over {dims}", ONE, transform(form, shape, dims)
    for one in PACKED:
        yield f"packed {one}", ONE, packed(*one)
    for bins in (16, 256, 4096):
        yield f"histc {bins}", (1 << 12, 1 << 16, 1 << 20, 1 << 24), histogram(bins)
    for one in ((10000, 64, 100000), (40000, 128, 600000), (100000, 32, 100000), (1000, 256, 200000), (200000, 16, 1000000)):
        yield f"gathered {one}", ONE, gathered(*one)
    for shape in ((4, 2048, 4096, 4096), (32, 256, 1408, 2048), (128, 128, 768, 2048), (8, 64, 2048, 1024)):
        yield f"grouped_mm {shape}", ONE, grouped(*shape)
