"""A training step of a rank that holds all layers, whole or in shards."""

import contextlib


class Replica:
    """Forward and backward pass of each accumulated micro-batch, then the optimizer."""

    def __init__(self, model, loss_of, optimizer, settings, parameters, remarks=(), around=contextlib.nullcontext):
        self.parameters = parameters
        self.remarks = list(remarks)
        self._model = model
        self._loss_of = loss_of
        self._optimizer = optimizer
        self._accumulation = settings.accumulation
        self._around = around

    def step(self, phase):
        """Runs one step; each part under phase("forward"), phase("backward"), phase("optimizer")."""
        for index in range(self._accumulation):
            with self._around(), self._reducing(index == self._accumulation - 1):
                with phase("forward"):
                    loss = self._loss_of()
                    loss = loss / self._accumulation if self._accumulation > 1 else loss
                with phase("backward"):
                    loss.backward()
        with phase("optimizer"):
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)

    def _reducing(self, is_last):
        # DDP reduces once a step; FSDP2 reduces each micro-batch, so that no whole gradients are kept.
        hold = getattr(self._model, "no_sync", None)
        return hold() if hold and not is_last else contextlib.nullcontext()
