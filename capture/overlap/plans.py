"""Draws what is measured: compute kernels, and the communication-like kernels that run with each, by seed and number alone."""

import dataclasses
import random

from microbench import operator_text, sampling
from overlap.device_library import Communication, PATTERNS, PLACES, Stamped, STAMPED_KINDS

WIDTHS = (1, 2, 4, 8, 12, 16, 20, 24, 32, 48)
# Wider than any collective, so that compute kernels find no room at all.
ARRIVAL_WIDTHS = WIDTHS + (64, 96, 132)
_SHAPES = {"ring": (1, 544, 82240), "tree": (1, 640, 82240), "light": (0, 256, 0)}
_SHAPE_WEIGHTS = {"ring": 6, "tree": 2, "light": 2}
_PATTERN_WEIGHTS = {"copy": 4, "reduce_copy": 4, "spin": 1, "ll": 1, "ll128": 1.5}
_PLACE_WEIGHTS = {"hbm": 7, "l2": 2, "host": 1}
_RATES_GBPS = (0, 0, 0, 25, 50, 100, 200, 400, 800)
# A network card asks for no more than it can send; only one in six fills the link's queues.
_HOST_RATES_GBPS = (0, 5, 10, 20, 30, 40)
_CHUNKS = (32 << 10, 128 << 10, 512 << 10)
PRIORITIES = ("same", "communication", "compute")
# Payload of a block without a limit, a guess that only sizes the runs.
_GUESSED_GBPS = {"copy": 20.0, "reduce_copy": 14.0, "spin": 1.0, "ll": 4.0, "ll128": 14.0}
_HOST_GBPS = 40.0


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A communication-like kernel as the table states it."""

    pattern: str
    place: str
    shape: str
    blocks: int
    rate_gbps: float  # payload of all blocks; 0: no limit
    chunk_bytes: int
    priority: str

    @property
    def threads(self):
        return _SHAPES[self.shape][1]

    @property
    def shared_bytes(self):
        return _SHAPES[self.shape][2]

    @property
    def heavy(self):
        return _SHAPES[self.shape][0]

    def block_gbps(self):
        """Guesses the payload of one block."""
        guess = _GUESSED_GBPS[self.pattern]
        if self.place == "host":
            guess = min(guess, _HOST_GBPS / self.blocks)
        limit = self.rate_gbps / self.blocks if self.rate_gbps else guess
        return min(guess, limit)

    def settings(self, chunks_each=0, longest_ns=50_000_000):
        """The kernel that moves `chunks_each` chunks a block, or moves on until told (0)."""
        chunk_ns = int(self.chunk_bytes * self.blocks / self.rate_gbps) if self.rate_gbps else 0
        if self.pattern == "spin":
            chunk_ns = self.spin_chunk_ns()
        return Communication(PATTERNS.index(self.pattern), PLACES.index(self.place), self.heavy,
                             self.blocks, self.threads, self.shared_bytes, self.chunk_bytes,
                             chunk_ns, chunks_each, int(longest_ns))

    def spin_chunk_ns(self):
        return 1000

    def chunks_for(self, duration_us):
        """Returns the number of chunks that a block moves in about that time."""
        if self.pattern == "spin":
            return max(5, int(duration_us))
        return max(2, round(duration_us * 1e3 * self.block_gbps() / self.chunk_bytes))


def draw(rng, blocks, shortest_us):
    """Draws all but the width; chunks are small enough to count within `shortest_us`."""
    weighted = lambda weights: rng.choices(list(weights), list(weights.values()))[0]
    pattern = weighted(_PATTERN_WEIGHTS)
    place = "hbm" if pattern == "spin" else weighted(_PLACE_WEIGHTS)
    rates = (0,) if pattern == "spin" else _HOST_RATES_GBPS if place == "host" else _RATES_GBPS
    rate = float(rng.choice(rates))
    drawn = Drawn(pattern, place, weighted(_SHAPE_WEIGHTS), blocks, rate, rng.choice(_CHUNKS),
                  rng.choice(PRIORITIES))
    most = drawn.block_gbps() * 1e3 * shortest_us / 4
    fitting = [size for size in (8 << 10, 16 << 10, *_CHUNKS) if size <= most] or [8 << 10]
    return dataclasses.replace(drawn, chunk_bytes=min(drawn.chunk_bytes, fitting[-1]))


_ARRIVALS = 8


@dataclasses.dataclass(frozen=True)
class Steady:
    """Communication goes on for as long as a train of launches of the compute kernel."""

    communication: object


@dataclasses.dataclass(frozen=True)
class Arrival:
    """One launch of each; the second comes `offset` of the first's time alone later."""

    communication: object
    first: str            # "K" or "C"
    offset: float
    length: float         # of the communication alone, in times of the compute kernel


def rows(seed, number, compute_us):
    """Lists the rows of a compute kernel that takes `compute_us` alone."""
    rng = random.Random(f"orrery overlap rows {seed} {number}")
    widths = list(WIDTHS)
    rng.shuffle(widths)
    out = [Steady(draw(rng, width, max(400.0, 5 * compute_us)))
           for width in widths]
    arrival_widths = rng.sample(ARRIVAL_WIDTHS, _ARRIVALS)
    for index, width in enumerate(arrival_widths):
        length = 10 ** rng.uniform(-0.5, 0.5)
        drawn = draw(rng, width, max(20.0, length * compute_us))
        offset = 0.0 if rng.random() < 0.15 else rng.uniform(0.0, 0.9)
        out.append(Arrival(drawn, "K" if index % 2 == 0 else "C", offset, length))
    rng.shuffle(out)
    return out


_SHARES = {"gemm": 26, "bgemm": 4, "attention": 9, "conv": 4, "layernorm": 6, "rmsnorm": 5,
           "softmax": 4, "crossentropy": 2, "elementwise": 12, "copy": 4, "reduce": 8,
           "embedding": 4, "optimizer": 5, "foreach": 2, "transpose": 2, "rope": 1.5,
           "dropout": 1.5, "cat": 1.5, "batchnorm": 1.5}
_STAMPED_EVERY = 7
_LARGEST_BYTES = 1.2e9
_LONGEST_SECONDS = 1.5e-3
_ROTATED_BYTES = 160e6  # beyond any cache
_MOST_COPIES = 6


@dataclasses.dataclass
class Planned:
    """One compute kernel to measure."""

    number: int
    text: str
    sample: object = None   # of microbench.sampling; None for a kernel of our own
    stamped: object = None  # device_library.Stamped
    copies: int = 1         # sets of operands that take turns, so that none stays in the cache


def _stamped(rng, number):
    kind = rng.randrange(len(STAMPED_KINDS))
    blocks = rng.choice((1, 2, 4, 8, 16, 24, 32, 66, 132, 200, 264, 396, 528, 1056, 2112, 4224))
    threads = rng.choice((64, 128, 256, 512, 1024))
    shared = rng.choice((0, 0, 0, 32 << 10, 100 << 10, 160 << 10))
    target = 10 ** rng.uniform(0.6, 2.6)  # microseconds of a block
    work = {"moves": 32 * max(1, int(target * 1.5)), "computes": 16 * max(1, int(target * 25)),
            "waits": max(1, int(target * 1.4))}[STAMPED_KINDS[kind]]
    text = (f"stamped kind={STAMPED_KINDS[kind]} blocks={blocks} threads={threads} "
            f"shared={shared} work={work}")
    return Planned(number, text, stamped=Stamped(kind, blocks, threads, shared, work))


def _sampled(rng, seed, number):
    """Draws until an operator is small enough; the draws of one number never meet another's."""
    for attempt in range(1000):
        sample = sampling.sample(f"overlap {seed} {number}", attempt, _SHARES)
        flops_and_bytes = operator_text.cost(sample.operator)
        if (flops_and_bytes[1] < _LARGEST_BYTES
                and operator_text.seconds(sample.operator) < _LONGEST_SECONDS):
            break
    rotates = rng.random() < 0.5
    copies = int(_ROTATED_BYTES / max(1.0, flops_and_bytes[1])) + 1 if rotates else 1
    return Planned(number, sample.text, sample=sample, copies=min(_MOST_COPIES, copies))


def planned(seed, number):
    rng = random.Random(f"orrery overlap {seed} {number}")
    if number % _STAMPED_EVERY == _STAMPED_EVERY - 1:
        return _stamped(rng, number)
    return _sampled(rng, seed, number)
