"""A process group without peers: every collective is noted, and a marker of a few bytes runs
on the stream where NCCL's kernel would run, ordered behind and before the caller's as NCCL does."""

import contextlib
import os
import sys

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work
from torch.distributed import distributed_c10d

from tracer import exchanges

_LIKE_PARAMETERS = 0.02


def equal_parts(whole, count):
    """Equal parts of a tensor along its memory."""
    flat = whole.view(-1)
    size = flat.numel() // count
    return [flat[place * size:(place + 1) * size] for place in range(count)]


@torch.no_grad()
def repeat(own, parts_):
    """Every part gets the own one: ranks are alike."""
    for part in parts_:
        take(own, part)


@torch.no_grad()
def take(source, output):
    """Copies as much as fits; the sides differ where ranks share unevenly."""
    if output.data_ptr() == source.data_ptr() or not output.numel():
        return
    if output.shape == source.shape:
        output.copy_(source)
        return
    size = min(output.numel(), source.numel())
    if output.is_contiguous() and source.is_contiguous():
        output.view(-1)[:size].copy_(source.view(-1)[:size])


@torch.no_grad()
def invent(output):
    """Fills in values that only a peer would know: small random numbers, or zeros for indices."""
    if output.is_floating_point():
        output.normal_(0.0, _LIKE_PARAMETERS)
    else:
        output.zero_()


_CALLS_THAT_WAIT = "distributed_c10d.py"


def _is_called_at_once(caller):
    """Returns whether `torch.distributed` itself waits, as it does unless asked for an asynchronous call.
    There is no caller in a thread of the autograd engine."""
    return caller is not None and os.path.basename(caller.f_code.co_filename) == _CALLS_THAT_WAIT


class StandInWork(Work):
    """The end of a marker on a stream. Without an event there is nothing to wait for: the
    marker was put on the caller's own stream, or was for the host."""

    def __init__(self, results, event=None, stream=None, entry=None, blocks_host=False):
        super().__init__()
        self._results = results
        self._event = event
        self._stream = stream
        self._entry = entry
        self._blocks_host = blocks_host
        self._future = None

    def wait(self, timeout=None):
        if self._entry is not None and _is_called_at_once(sys._getframe().f_back):
            self._entry["waits"] = True
        if self._event is not None:
            self._event.wait(torch.cuda.current_stream())
            if self._blocks_host:
                self._event.synchronize()
        return True

    def synchronize(self):
        self.wait()

    def block_current_stream(self):
        self.wait()

    def get_future(self):
        """A completed future. Its event is recorded on the marker's stream, so whoever waits
        for it (DDP's reducer) orders its own stream behind, as behind NCCL."""
        if self._future is None:
            self._future = self._made_future()
        return self._future

    def _made_future(self):
        if self._stream is None:
            future = torch.futures.Future()
            future.set_result(self._results)
            return future
        future = torch.futures.Future(devices=[self._stream.device])
        with torch.cuda.stream(self._stream):
            future.set_result(self._results)
        return future

    def result(self):
        return self._results

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def exception(self):
        return None

    def source_rank(self):
        return -1


BACKEND = "orrery"


def _bytes(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _flat(lists):
    return [tensor for one in lists for tensor in one]


def register(log):
    """Makes the backend known to PyTorch; all groups write into the log."""
    def create(store, rank, size, timeout):
        return StandInGroup(rank, size, log)

    if not hasattr(dist.Backend, BACKEND.upper()):
        dist.Backend.register_backend(BACKEND, create, devices=["cpu", "cuda"])


class StandInGroup(dist.ProcessGroup):
    """Rank `rank` of `size`, alone. PyTorch calls the methods from Python (`torch.distributed`) and
    from C++ (DDP's reducer, functional collectives), under the names of either."""

    supports_coalescing = False
    supports_splitting = False

    def __init__(self, rank, size, log):
        super().__init__(rank, size)
        self._log = log
        self._streams = {}
        self._marker = None
        self._description = ""
        self._name = ""
        self._work = None

    # Properties.

    def getBackendName(self):  # noqa: N802, the name PyTorch calls
        return BACKEND

    def _set_group_name(self, name):
        super()._set_group_name(name)
        self._name = name

    def _set_group_desc(self, description):
        super()._set_group_desc(description)
        self._description = description

    @property
    def group_name(self):
        return self._name

    @property
    def group_desc(self):
        return self._description

    @property
    def _device_types(self):
        return [torch.device("cuda")]

    def _get_backend(self, device):
        return self

    def __repr__(self):
        return f"<stand-in group {self._name}, rank {self.rank()} of {self.size()}>"

    def __getattr__(self, name):
        raise AttributeError(
            f"the stand-in for a process group cannot serve {name}: the tracer knows no such "
            "collective")

    # Collectives. Arguments are those of PyTorch's own backends.

    def allreduce(self, tensors, opts=None):
        return self._exchange("all_reduce", tensors, _bytes(tensors), opts)

    def allreduce_coalesced(self, tensors, opts=None):
        return self.allreduce(tensors, opts)

    def allgather(self, output_tensors, input_tensors, opts=None):
        if self._fills(input_tensors):
            for parts, own in zip(output_tensors, input_tensors):
                repeat(own, parts)
        return self._exchange("all_gather", _flat(output_tensors), _bytes(_flat(output_tensors)),
                              opts, like=input_tensors[0], results=output_tensors)

    def allgather_coalesced(self, output_lists, input_list, opts=None):
        flat = _flat(output_lists)
        if self._fills(input_list):
            for parts in output_lists:
                for part, own in zip(parts, input_list):
                    repeat(own, [part])
        return self._exchange("all_gather", flat, _bytes(flat), opts)

    def _allgather_base(self, output, input, opts=None):
        return self.allgather_into_tensor_coalesced([output], [input], opts)

    def allgather_into_tensor_coalesced(self, outputs_, inputs, opts=None):
        if self._fills(inputs):
            for output, own in zip(outputs_, inputs):
                repeat(own, equal_parts(output, self.size()))
        return self._exchange("all_gather", outputs_, _bytes(outputs_), opts)

    def reduce_scatter(self, outputs_, input_lists, opts=None):
        if self._fills(outputs_):
            for output, parts in zip(outputs_, input_lists):
                take(parts[self.rank()], output)
        return self._exchange("reduce_scatter", outputs_, _bytes(_flat(input_lists)), opts)

    def _reduce_scatter_base(self, output, input, opts=None):
        return self.reduce_scatter_tensor_coalesced([output], [input], opts)

    def reduce_scatter_tensor_coalesced(self, outputs_, inputs, opts=None):
        if self._fills(outputs_):
            for output, whole in zip(outputs_, inputs):
                take(equal_parts(whole, self.size())[self.rank()], output)
        return self._exchange("reduce_scatter", outputs_, _bytes(inputs), opts)

    def alltoall_base(self, output, input, output_sizes=None, input_sizes=None, opts=None):
        if self._fills([output]):
            take(input, output)
        return self._exchange("all_to_all", [output], _bytes([input]), opts, like=input)

    def alltoall(self, outputs_, inputs, opts=None):
        if self._fills(outputs_):
            for output, own in zip(outputs_, inputs):
                take(own, output)
        return self._exchange("all_to_all", outputs_, _bytes(inputs), opts, like=inputs[0])

    def broadcast(self, tensors, opts=None):
        return self._exchange("broadcast", tensors, _bytes(tensors), opts, peer=self._root(opts))

    def reduce(self, tensors, opts=None):
        return self._exchange("reduce", tensors, _bytes(tensors), opts, peer=self._root(opts))

    def gather(self, output_lists, inputs, opts=None):
        if self._fills(inputs):
            for parts in output_lists:
                repeat(inputs[0], parts)
        return self._exchange("gather", inputs, _bytes(inputs) * self.size(), opts,
                              peer=self._root(opts), results=_flat(output_lists))

    def scatter(self, outputs_, input_lists, opts=None):
        if self._fills(outputs_):
            parts = _flat(input_lists)
            for output in outputs_:
                take(parts[self.rank()], output) if parts else invent(output)
        return self._exchange("scatter", outputs_, _bytes(outputs_) * self.size(), opts,
                              peer=self._root(opts))

    def send(self, tensors, peer, tag=0):
        return self._message("send", tensors, peer)

    def recv(self, tensors, peer, tag=0):
        if self._fills(tensors):
            for tensor in tensors:
                invent(tensor)
        return self._message("receive", tensors, peer)

    def recv_anysource(self, tensors, tag=0):
        return self.recv(tensors, (self.rank() + 1) % self.size(), tag)

    def barrier(self, opts=None):
        return self._exchange("barrier", [], 0, None, like=self._mark_tensor(), blocks_host=True)

    # Names of later versions.
    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    def _start_coalescing(self, device=None):
        self._batch = self._log.batch()
        self._batch.__enter__()

    def _end_coalescing(self, device=None):
        self._batch.__exit__(None, None, None)
        return self._work

    start_coalescing = _start_coalescing
    end_coalescing = _end_coalescing

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        self.barrier().wait()

    def abort(self):
        pass

    def shutdown(self):
        pass

    # Shared by all collectives.

    def _message(self, kind, tensors, peer):
        low, high = sorted((self.rank(), peer))
        key = "" if self._log.is_batching else f"{low}:{high}"
        return self._exchange(kind, tensors, _bytes(tensors), None, peer=self._global(peer),
                              stream_key=key)

    def _exchange(self, kind, tensors, size, opts, like=None, results=None, peer=exchanges.NO_PEER,
                  stream_key="", blocks_host=False):
        like = tensors[0] if like is None else like
        results = tensors if results is None else results
        if not like.is_cuda:
            self._log.on_host += 1
            return StandInWork(results)
        is_on_callers_stream = getattr(opts, "asyncOp", None) is False
        entry = {"kind": kind, "group": self._name, "bytes": size,
                 "element": exchanges.element(like.dtype), "waits": is_on_callers_stream,
                 "peer": peer}
        number = self._log.add(entry)
        stream = None if is_on_callers_stream else self._stream(stream_key)
        with self._range(number):
            event = self._mark(stream)
        self._work = StandInWork(results, event, stream, entry, blocks_host)
        return self._work

    def _range(self, number):
        if not self._log.is_annotating:
            return contextlib.nullcontext()
        return torch.profiler.record_function(f"orrery.collective#{number}")

    def _mark(self, stream):
        """Puts the marker on a stream, or on the current one: since PyTorch 2.8 that is where
        NCCL puts a collective that its caller waits for at once."""
        marker = self._mark_tensor()
        if stream is None:
            marker.zero_()
            return None
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            marker.zero_()
        return stream.record_event()

    def _mark_tensor(self):
        if self._marker is None:
            self._marker = torch.zeros(2, dtype=torch.int32, device="cuda")
        return self._marker

    def _stream(self, key):
        if key not in self._streams:
            self._streams[key] = torch.cuda.Stream()
        return self._streams[key]

    def _fills(self, tensors):
        """Returns whether to fill outputs: integers always, since they may be sizes or indices;
        other numbers in the first steps only, so that recorded steps have no kernel of ours."""
        return bool(tensors) and (self._log.is_filling or not tensors[0].is_floating_point())

    def _root(self, opts):
        return self._global(getattr(opts, "rootRank", 0))

    def _global(self, rank):
        ranks = distributed_c10d._world.pg_group_ranks.get(self)
        if not ranks:
            return rank
        return next((whole for whole, own in ranks.items() if own == rank), rank)
