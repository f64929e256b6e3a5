"""Draws sizes at random: log-uniform, the structured points that kernels are sensitive to, and shapes of well-known models."""

import dataclasses
import math


def log_uniform(rng, low, high):
    """Draws an integer in [low, high], each octave equally likely."""
    value = math.exp(rng.uniform(math.log(low), math.log(high + 1)))
    return max(low, min(high, int(value)))


def weighted(rng, weight_of):
    """Draws a key of a dictionary from key to weight."""
    point = rng.random() * sum(weight_of.values())
    for key, weight in weight_of.items():
        point -= weight
        if point < 0:
            return key
    return key


def size(rng, low, high):
    """Draws a size: as it comes, a power of two, one or eight beside it, or a multiple of 64."""
    value = log_uniform(rng, low, high)
    style = rng.random()
    if style < 0.30:
        return value
    power = 1 << round(math.log2(value))
    if style < 0.45:
        drawn = power
    elif style < 0.53:
        drawn = power + rng.choice((-1, 1))
    elif style < 0.61:
        drawn = power + rng.choice((-8, 8))
    elif style < 0.90:
        drawn = (value + 63) // 64 * 64
    else:
        drawn = (value + 7) // 8 * 8
    return max(low, min(high, drawn))


def chance(rng, probability):
    return rng.random() < probability


@dataclasses.dataclass(frozen=True)
class Transformer:
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    gated: bool      # feed-forward with a gate (SwiGLU)
    bias: bool       # linear layers have a bias
    transposed: bool = False  # weights stored (in, out), as GPT-2's Conv1D

    def linears(self, shard):
        """Lists (in, out) of the linear layers of one of `shard` tensor-parallel ranks."""
        heads = max(1, self.heads // shard)
        kv_heads = max(1, self.kv_heads // shard)
        inner = heads * self.head_size
        feed_forward = self.feed_forward // shard
        out = [(self.hidden, inner + 2 * kv_heads * self.head_size), (self.hidden, inner),
               (inner, self.hidden), (self.hidden, feed_forward), (feed_forward, self.hidden)]
        if self.kv_heads != self.heads:
            out.append((self.hidden, kv_heads * self.head_size))
        if self.gated:
            out.append((self.hidden, 2 * feed_forward))
        return out


TRANSFORMERS = {
    "gpt2": Transformer(768, 3072, 12, 12, 64, 50257, False, True, True),
    "gpt2-medium": Transformer(1024, 4096, 16, 16, 64, 50257, False, True, True),
    "gpt2-large": Transformer(1280, 5120, 20, 20, 64, 50257, False, True, True),
    "gpt2-xl": Transformer(1600, 6400, 25, 25, 64, 50257, False, True, True),
    "bert-base": Transformer(768, 3072, 12, 12, 64, 30522, False, True),
    "bert-large": Transformer(1024, 4096, 16, 16, 64, 30522, False, True),
    "llama-1b": Transformer(2048, 8192, 32, 8, 64, 128256, True, False),
    "llama-3b": Transformer(3072, 8192, 24, 8, 128, 128256, True, False),
    "llama-8b": Transformer(4096, 14336, 32, 8, 128, 128256, True, False),
    "llama-70b": Transformer(8192, 28672, 64, 8, 128, 128256, True, False),
    "mixtral": Transformer(4096, 14336, 32, 8, 128, 32000, True, False),
    "gpt2-padded": Transformer(768, 3072, 12, 12, 64, 50304, False, True, True),
}
_TRANSFORMER_NAMES = tuple(TRANSFORMERS)
VOCABULARIES = (50257, 50257, 30522, 128256, 32000, 50304, 1000, 151936)

# (in, out) of DLRM's bottom and top perceptrons, of classifiers, and of a mixture's router.
OTHER_LINEARS = ((13, 512), (512, 256), (256, 64), (256, 128), (479, 1024), (367, 512),
                 (1024, 1024), (1024, 512), (512, 256), (256, 1), (2048, 1000), (25088, 4096),
                 (4096, 4096), (4096, 1000), (960, 1280), (1280, 1000), (4096, 8))


def draw_transformer(rng):
    return TRANSFORMERS[rng.choice(_TRANSFORMER_NAMES)]


def _resnet50():
    layers = [(3, 64, 224, 7, 2, 3, 1)]
    inputs = 64
    for width, edge, stride in ((64, 56, 1), (128, 56, 2), (256, 28, 2), (512, 14, 2)):
        out = 4 * width
        small = edge // stride
        layers += [(inputs, width, edge, 1, 1, 0, 1), (width, width, edge, 3, stride, 1, 1),
                   (width, out, small, 1, 1, 0, 1), (inputs, out, edge, 1, stride, 0, 1),
                   (out, width, small, 1, 1, 0, 1), (width, width, small, 3, 1, 1, 1)]
        inputs = out
    return layers


def _vgg16():
    channels = (3, 64, 64, 128, 128, 256, 256, 512, 512, 512)
    edges = (224, 224, 112, 112, 56, 56, 28, 28, 14)
    return [(channels[i], channels[i + 1], edges[i], 3, 1, 1, 1) for i in range(len(edges))]


def _mobilenet():
    layers = [(3, 16, 224, 3, 2, 1, 1)]
    # (in, expanded, out, edge, kernel, stride) of MobileNetV3-large's blocks.
    for inputs, wide, out, edge, kernel, stride in (
            (16, 16, 16, 112, 3, 1), (16, 64, 24, 112, 3, 2), (24, 72, 24, 56, 3, 1),
            (24, 72, 40, 56, 5, 2), (40, 120, 40, 28, 5, 1), (40, 240, 80, 28, 3, 2),
            (80, 200, 80, 14, 3, 1), (80, 184, 80, 14, 3, 1), (80, 480, 112, 14, 3, 1),
            (112, 672, 112, 14, 3, 1), (112, 672, 160, 14, 5, 2), (160, 960, 160, 7, 5, 1)):
        small = edge // stride
        layers += [(inputs, wide, edge, 1, 1, 0, 1),
                   (wide, wide, edge, kernel, stride, kernel // 2, wide),
                   (wide, out, small, 1, 1, 0, 1)]
    return layers


# (channels, out channels, edge, kernel, stride, pad, groups)
RESNET50 = tuple(_resnet50())
VGG16 = tuple(_vgg16())
MOBILENET = tuple(_mobilenet())
