"""What a process that plays one rank is asked for, as a file between it and its driver."""

import dataclasses

from tracer import files

COMPLETE = 0
REFUSED = 2  # a sentence was printed, nothing is recorded
INCOMPLETE = 3  # what was recorded is kept
OUT_OF_MEMORY = 75


@dataclasses.dataclass
class Request:
    """`options` are words of the command line for a built-in model; `script` a program and its
    arguments in their place."""

    folder: str
    rank: int
    world: int
    steps: int
    profiled_steps: int = 3
    is_timing_only: bool = False
    layers: int = 0  # 0: all
    options: dict = dataclasses.field(default_factory=dict)
    script: list = dataclasses.field(default_factory=list)

    def write(self, path):
        files.write_json(path, dataclasses.asdict(self))

    @staticmethod
    def read(path):
        return Request(**files.read_json(path))
