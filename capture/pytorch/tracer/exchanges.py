"""The exchanges of one step of a rank with others, in the order of the calls."""

import contextlib
import threading

NO_PEER = -1
NO_BATCH = -1

_ELEMENTS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64",
             "int64": "int64", "int32": "int32", "int8": "int8", "uint8": "int8", "bool": "int8"}


def element(dtype):
    """The format's name for a type of PyTorch, given as text (`torch.bfloat16`)."""
    name = str(dtype).rpartition(".")[2]
    return "fp8" if name.startswith("float8") else _ELEMENTS.get(name, name)


class ExchangeLog:
    """Counts and keeps the exchanges of the step under way, and those of the last whole step."""

    def __init__(self):
        self.is_annotating = False  # adds a range for each to the profile
        self.is_filling = True  # fills outputs with numbers that a peer might have sent
        self.on_host = 0  # exchanges of CPU tensors, which no stream sees
        self.last = []
        self._entries = []
        self._lock = threading.Lock()
        self._batch = NO_BATCH
        self._batches = 0

    def begin_step(self):
        with self._lock:
            self._entries = []
            self._batches = 0

    def end_step(self):
        with self._lock:
            self.last = self._entries

    def add(self, entry):
        """The number of an exchange in its step."""
        with self._lock:
            entry["batch"] = self._batch
            self._entries.append(entry)
            return len(self._entries) - 1

    @property
    def is_batching(self):
        return self._batch != NO_BATCH

    @contextlib.contextmanager
    def batch(self):
        """Messages inside begin together, as those of one group call of NCCL."""
        with self._lock:
            self._batch, self._batches = self._batches, self._batches + 1
        try:
            yield
        finally:
            self._batch = NO_BATCH
