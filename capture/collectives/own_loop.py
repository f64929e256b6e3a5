"""Our own loop over NCCL: one process a GPU, timed by CUDA events; needs PyTorch and GPUs."""

import os
import pathlib
import socket
import sys
import tempfile

import torch
import torch.distributed
import torch.multiprocessing

from collectives import log_text, nccl_library, plan as plans
from microbench import machine


class Group:
    """The ranks as host processes; used between measurements only."""

    def __init__(self, rank, ranks):
        self.rank = rank
        self.ranks = ranks

    def barrier(self):
        torch.distributed.barrier()

    def gather(self, value):
        values = [None] * self.ranks
        torch.distributed.all_gather_object(values, value)
        return values

    def from_first(self, value):
        return self.gather(value)[0]


class _Bench:
    """Times one message on this rank's GPU."""

    def __init__(self, plan, communicator, largest_bytes):
        self._plan = plan
        self._communicator = communicator
        self._send = self._random_buffer(largest_bytes)
        self._receive = self._random_buffer(largest_bytes)

    @staticmethod
    def _random_buffer(num_bytes):
        return torch.randint(0, 256, (num_bytes,), dtype=torch.uint8, device="cuda")

    def time_us(self, message, in_place):
        addresses = self._send.data_ptr(), self._receive.data_ptr()
        if in_place:
            addresses = self._communicator.buffers_in_place(self._plan, addresses[1], message)
        call = self._communicator.prepare(self._plan, *addresses, message,
                                          torch.cuda.current_stream().cuda_stream)
        for _ in range(self._plan.warmup):
            call()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()  # hosts do not start at the same time; behind this one the GPUs are in step
        begin.record()
        for _ in range(self._plan.iterations):
            call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e3 / self._plan.iterations


def _device(rank, index):
    properties = torch.cuda.get_device_properties(index)
    bus = "{:04x}:{:02x}:{:02x}".format(*(getattr(properties, name, 0) for name in (
        "pci_domain_id", "pci_bus_id", "pci_device_id")))
    return log_text.Device(rank, os.getpid(), socket.gethostname(), index, bus, properties.name)


def _versions(nccl):
    return log_text.Versions(nccl.version(), torch.__version__,
                             machine.driver_version() or "unknown", torch.version.cuda or "unknown")


def _measure(plan, group, index, out):
    """Measures on every rank once the group exists; the first rank writes the log."""
    torch.cuda.set_device(index)
    nccl = nccl_library.load()
    unique_id = group.from_first(nccl.unique_id() if group.rank == 0 else None)
    communicator = nccl.communicator(group.ranks, unique_id, group.rank)
    sizes = plans.messages(plan, group.ranks)
    bench = _Bench(plan, communicator, max(message.size_bytes for message in sizes))
    devices = group.gather(_device(group.rank, index))
    if group.rank == 0:
        with log_text.LogFile(out) as log:
            for line in log_text.header(plan, devices, _versions(nccl)):
                log.write(line)
            for line in log_text.closing(plan, log_text.sweep(plan, bench, group, log.write)):
                log.write(line)
    else:
        log_text.sweep(plan, bench, group, lambda line: None)
    communicator.destroy()


def _worker(index, plan, gpus, meeting_file, out):
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting_file}", rank=index,
                                         world_size=gpus)
    try:
        _measure(plan, Group(index, gpus), index, out)
    finally:
        torch.distributed.destroy_process_group()


def _run_here(plan, gpus, out):
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(
            _worker, (plan, gpus, str(pathlib.Path(folder) / "meeting"), out), nprocs=gpus)


def _run_launched(plan, out):
    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    index = int(os.environ.get("LOCAL_RANK", rank % torch.cuda.device_count()))
    try:
        _measure(plan, Group(rank, ranks), index, out)
    finally:
        torch.distributed.destroy_process_group()


def reason(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__


def run(plan, gpus, out, is_launched):
    """Measures; 0, or 2 after a sentence."""
    try:
        if is_launched:
            _run_launched(plan, out)
        else:
            _run_here(plan, gpus, out)
    except Exception as error:  # a worker's errors arrive as one type, with the cause in the text
        hint = "; a smaller --max-bytes may fit" if "out of memory" in str(error) else ""
        print(f"orrery-capture: the collectives could not be measured: {reason(error)}{hint}",
              file=sys.stderr)
        return 2
    return 0
