"""Draws communication-like kernels: width, shape, access pattern, place, rate and priority."""

import dataclasses

from overlap.device_library import PATTERNS, PLACES, Communication

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
        """How many chunks a block moves in about that time."""
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
