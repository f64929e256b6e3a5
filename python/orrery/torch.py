"""Inside training scripts that use PyTorch: profiles written beside training, memory snapshots, traces of a rank.

    with torch.profiler.profile(schedule=torch.profiler.schedule(wait=5, warmup=2, active=3, repeat=1),
                                on_trace_ready=orrery.torch.on_trace_ready("trace")) as profiler:
        for batch in loader:
            train_step(batch)
            profiler.step()

Pure Python; PyTorch is imported when a function is called, and the compiled module only to print findings.
"""
from __future__ import annotations

import contextlib
import functools
import os
import socket
import time
from typing import Any, Callable, Iterable, Iterator, Optional, Union

from . import _trace_writer
from ._trace_writer import wait

__all__ = ["hugging_face_callback", "lightning_callback", "memory", "on_trace_ready", "profile_loop", "profiler", "trace", "wait"]

PathLike = Union[str, "os.PathLike[str]"]

_EXPORTS = ("process", "here")
_RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
_has_said_that_export_blocks = False


def on_trace_ready(folder: PathLike, *, rank: Optional[int] = None, compress: bool = True, findings: bool = True,
                   export: str = "process") -> Callable[[Any], None]:
    """For `torch.profiler.profile(on_trace_ready=...)`: writes each profile to `folder` beside training.

    Files are named like those of `torch.profiler.tensorboard_trace_handler`, with the rank in front, and appear when they
    are complete. After each, rank 0 prints the three main findings on standard error (`findings`). Problems are warnings.

    `export` says where PyTorch turns the profile into JSON: "process" (a fork of the process, as PyTorch's data loaders fork
    it), or "here" (before the step goes on; where a library forbids forks). Another process compresses in either case: a
    thread would take the interpreter's lock from training.

    >>> handler = orrery.torch.on_trace_ready("trace", rank=0)
    >>> callable(handler)
    True
    """
    directory = _folder_text(folder)
    if export not in _EXPORTS:
        raise ValueError(f"export: one of {', '.join(_EXPORTS)} is needed, not {export!r}")

    def handle(prof: Any) -> None:
        own_rank = _rank(rank)
        path = os.path.join(directory, f"{_worker(own_rank)}.{time.time_ns()}.pt.trace.json{'.gz' if compress else ''}")
        os.makedirs(directory, exist_ok=True)
        _hand_over(prof, path, compress, findings and own_rank == 0, export)

    return _guarded(handle)


def profiler(folder: PathLike, *, wait: int = 5, warmup: int = 2, active: int = 3, repeat: int = 1, skip_first: int = 0,
             rank: Optional[int] = None, compress: bool = True, findings: bool = True, export: str = "process",
             **options: Any) -> Any:
    """A `torch.profiler.profile` that writes to `folder`; call its `step()` at the end of each step.

    Other options are those of `torch.profiler.profile`; shapes are recorded unless `record_shapes=False`.

    >>> with orrery.torch.profiler("trace", active=5) as profiler:  # doctest: +SKIP
    ...     for batch in loader:
    ...         train_step(batch)
    ...         profiler.step()
    """
    import torch

    handler = on_trace_ready(folder, rank=rank, compress=compress, findings=findings, export=export)
    schedule = torch.profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)
    return torch.profiler.profile(schedule=schedule, on_trace_ready=handler, **{"record_shapes": True, **options})


def profile_loop(steps: Union[int, Iterable[Any]], folder: PathLike, **options: Any) -> Iterator[Any]:
    """Steps of a loop of one's own, profiled: each pass of the loop is a step. Options are those of `profiler`.

    >>> for batch in orrery.torch.profile_loop(loader, "trace"):  # doctest: +SKIP
    ...     train_step(batch)
    """
    with profiler(folder, **options) as own:
        for one in range(steps) if isinstance(steps, int) else steps:
            yield one
            own.step()


class _Steps:
    """A profiler from the begin to the end of somebody else's loop."""

    def __init__(self, folder: PathLike, options: Any) -> None:
        self._folder = _folder_text(folder)
        self._options = options
        self._profiler: Any = None

    def begin(self) -> None:
        self.end()
        self._profiler = profiler(self._folder, **self._options)
        self._profiler.start()

    def step(self) -> None:
        if self._profiler is not None:
            self._profiler.step()

    def end(self) -> None:
        if self._profiler is not None:
            own, self._profiler = self._profiler, None
            own.stop()


def hugging_face_callback(folder: PathLike, **options: Any) -> Any:
    """A callback for `transformers.Trainer`, which profiles optimizer steps. Options are those of `profiler`.

    >>> trainer.add_callback(orrery.torch.hugging_face_callback("trace"))  # doctest: +SKIP
    """
    from transformers import TrainerCallback

    steps = _Steps(folder, options)

    class OrreryCallback(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            steps.begin()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            steps.step()

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            steps.end()

    return OrreryCallback()


def lightning_callback(folder: PathLike, **options: Any) -> Any:
    """A callback for Lightning's `Trainer`, which profiles optimizer steps. Options are those of `profiler`.

    >>> lightning.Trainer(callbacks=[orrery.torch.lightning_callback("trace")])  # doctest: +SKIP
    """
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback  # type: ignore[no-redef]

    steps = _Steps(folder, options)

    class OrreryCallback(Callback):  # type: ignore[misc]
        _last_step = 0

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self._last_step = trainer.global_step
            steps.begin()

        def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
            if trainer.global_step != self._last_step:  # not while gradients accumulate
                self._last_step = trainer.global_step
                steps.step()

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            steps.end()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            steps.end()

    return OrreryCallback()


@contextlib.contextmanager
def memory(folder: PathLike, *, rank: Optional[int] = None, max_entries: int = 1_000_000, stacks: str = "python") -> Iterator[str]:
    """Records what PyTorch's caching allocator does in the block, and writes a snapshot for `orrery.memory`.

    Yields the path of the snapshot, which is there after the block, also where it ended by an exception (out of memory).
    Of more than `max_entries` allocations and frees the last are kept. A recording of the history that is on already stays
    on, with its own settings.

    >>> with orrery.torch.memory("trace") as path:  # doctest: +SKIP
    ...     train_step(batch)
    >>> print(orrery.memory(path, "timeline"))  # doctest: +SKIP
    """
    import torch

    directory = _folder_text(folder)
    path = os.path.join(directory, f"{_worker(_rank(rank))}.{time.time_ns()}.memory.pickle")
    if not torch.cuda.is_available():
        _trace_writer.complain("no GPU, so there is no memory history to record")
        yield path
        return
    is_on = getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)()
    if not is_on:
        torch.cuda.memory._record_memory_history("all", context="all", stacks=stacks, max_entries=max_entries)
    try:
        yield path
    finally:
        try:
            _dump_snapshot(torch, path)
        except Exception as error:  # noqa: BLE001: the exception of the block is the one to see
            _trace_writer.complain(f"{path} was not written: {type(error).__name__}: {error}")
        if not is_on:
            torch.cuda.memory._record_memory_history(enabled=None)


def _dump_snapshot(torch: Any, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = _trace_writer.part_name(path, ".pickle")
    torch.cuda.memory._dump_snapshot(part)
    os.replace(part, path)


class _Recording:
    """Steps of a rank: some that pass, a profile, then the execution trace of one."""

    def __init__(self, folder: str, rank: int, steps: int, skip: int) -> None:
        self._stem = os.path.join(folder, f"rank-{rank}")
        self._steps = steps
        self._skip = skip
        self._last_profiled = skip + 1 + steps
        self._done = 0
        self._profiler: Any = None
        self._observer: Any = None
        self._marker: Any = None

    @property
    def is_done(self) -> bool:
        """True if recording is complete; further steps cost nothing."""
        return self._done > self._last_profiled

    def step(self) -> None:
        """A step ends here."""
        if self.is_done:
            return
        self._done += 1
        if self._done <= self._last_profiled:
            self._profiler.step()
        if self._done == self._last_profiled:
            self._end_profile()
            self._begin_execution_trace()
        if self.is_done:
            self._end_execution_trace()

    def _begin(self) -> None:
        import torch

        self._profiler = torch.profiler.profile(
            schedule=torch.profiler.schedule(wait=self._skip, warmup=1, active=self._steps, repeat=1), record_shapes=True,
            on_trace_ready=_guarded(lambda prof: _hand_over(prof, f"{self._stem}.kineto.json.gz", True, False, "process")),
            experimental_config=_sync_events(torch))
        self._profiler.start()

    def _end(self) -> None:
        self._end_profile()
        self._end_execution_trace()
        if not self.is_done:
            _trace_writer.complain(f"the block ended after {self._done} of {self._last_profiled + 1} steps, so {self._stem}.* is not complete")
        wait()

    def _end_profile(self) -> None:
        if self._profiler is not None:
            own, self._profiler = self._profiler, None
            own.stop()

    def _begin_execution_trace(self) -> None:
        import torch

        self._observer = torch.profiler.ExecutionTraceObserver()
        self._observer.register_callback(self._raw())
        self._observer.start()
        # Says that all of it is one step, however many steps of optimizers it has.
        self._marker = torch.profiler.record_function(f"ProfilerStep#{self._done}")
        self._marker.__enter__()

    def _end_execution_trace(self) -> None:
        if self._observer is None:
            return
        own, self._observer = self._observer, None
        self._marker.__exit__(None, None, None)
        own.stop()
        own.unregister_callback()  # completes the file
        _trace_writer.submit(functools.partial(_trace_writer.finish_file, self._raw(), self._execution_path(), True))

    def _execution_path(self) -> str:
        return f"{self._stem}.execution.json.gz"

    def _raw(self) -> str:
        return _trace_writer.part_name(self._execution_path(), ".json")


@contextlib.contextmanager
def trace(folder: PathLike, *, steps: int = 3, skip: int = 3, rank: Optional[int] = None) -> Iterator[_Recording]:
    """Records this rank as it runs: `orrery predict FOLDER` and `orrery.predict.trace(folder)` read the folder.

    After `skip` steps and one to warm up, a profile of `steps` steps (`rank-R.kineto.json.gz`, with the waits between
    streams where PyTorch records them); then the execution trace of one more step (`rank-R.execution.json.gz`), on its own,
    since recording it slows the host. The files are there when the block has ended.

    Unlike the command `orrery trace`, which runs ranks of a large job on one GPU with process groups that have no peers,
    this records a job that is running: all its ranks exist, and each calls this.

    >>> with orrery.torch.trace("trace") as recording:  # doctest: +SKIP
    ...     while not recording.is_done:
    ...         train_step(next(batches))
    ...         recording.step()
    """
    directory = _folder_text(folder)
    os.makedirs(directory, exist_ok=True)
    recording = _Recording(directory, _rank(rank), steps, skip)
    recording._begin()
    try:
        yield recording
    finally:
        recording._end()


def _guarded(handle: Callable[[Any], None]) -> Callable[[Any], None]:
    """Errors become warnings: training goes on."""

    def guarded(prof: Any) -> None:
        try:
            handle(prof)
        except Exception as error:  # noqa: BLE001
            _trace_writer.complain(f"a profile was not written: {type(error).__name__}: {error}")

    return guarded


def _hand_over(prof: Any, path: str, compress: bool, findings: bool, export: str) -> None:
    """Lets the profile that has just ended be written; what has to be done before the next begins is done here."""
    write = _forked(prof, path, compress) if export == "process" else None
    if write is None:
        raw = _trace_writer.part_name(path, ".json")
        prof.export_chrome_trace(raw)
        write = functools.partial(_trace_writer.finish_file, raw, path, compress)

    def work() -> None:
        write()
        if findings:
            _trace_writer.print_findings(path)

    _trace_writer.submit(work)


def _forked(prof: Any, path: str, compress: bool) -> Optional[Callable[[], None]]:
    """Forks a process that exports the profile. Returns the function that waits for it; None if there can be no fork, or if this
    PyTorch keeps its profile elsewhere."""
    save = getattr(getattr(getattr(prof, "profiler", None), "kineto_results", None), "save", None)
    if hasattr(os, "fork") and callable(save):
        with contextlib.suppress(OSError):  # no memory, or too many processes
            return _trace_writer.fork_and_save(save, path, compress)
    _say_that_export_blocks()
    return None


def _say_that_export_blocks() -> None:
    global _has_said_that_export_blocks
    if not _has_said_that_export_blocks:
        _has_said_that_export_blocks = True
        _trace_writer.complain("a fork cannot export the profile here, so it is exported while training waits")


def _sync_events(torch: Any) -> Any:
    """Waits between streams, where this version of the profiler can record them."""
    try:
        return torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    except (AttributeError, TypeError):
        return None


def _folder_text(folder: Any) -> str:
    try:
        return os.path.abspath(os.fsdecode(os.fspath(folder)))
    except TypeError:
        raise TypeError(f"folder: a path is needed, not {type(folder).__name__}") from None


def _rank(rank: Optional[int]) -> int:
    if rank is not None:
        return int(rank)
    import torch

    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    texts = (os.environ.get(name, "") for name in _RANK_VARIABLES)
    return next((int(text) for text in texts if text.isdigit()), 0)


def _worker(rank: int) -> str:
    return f"rank-{rank}.{socket.gethostname()}_{os.getpid()}"
