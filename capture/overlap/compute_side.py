"""The compute side on the GPU: operators and kernels of our own, launched into a given stream."""

import torch

from microbench.prepare import prepare, set_tf32

_WARM_UPS = 3


class Compute:
    """One compute kernel, ready to be launched."""

    def __init__(self, planned, operands, device):
        self.planned = planned
        self._device = device
        self._tf32 = False
        self._calls = []
        self._next = 0
        if planned.sample is not None:
            made = [prepare(planned.sample, operands) for _ in range(planned.copies)]
            self._calls = [one.call for one in made]
            self._tf32 = made[0].uses_tf32

    @property
    def is_stamped(self):
        return self.planned.stamped is not None

    def launch(self, stream, external, slot):
        """Launches once; `external` is the stream as PyTorch sees it."""
        if self.is_stamped:
            self._device.stamped(stream, slot, self.planned.stamped)
            return
        call = self._calls[self._next]
        self._next = (self._next + 1) % len(self._calls)
        with torch.cuda.stream(external):
            call()

    def warm_up(self, streams):
        """Calls in each stream until nothing is compiled or allocated any more."""
        set_tf32(self._tf32)
        for stream, external in streams:
            for _ in range(_WARM_UPS * max(1, len(self._calls))):
                self.launch(stream, external, 0)
        torch.cuda.synchronize()

    def ready(self):
        set_tf32(self._tf32)
