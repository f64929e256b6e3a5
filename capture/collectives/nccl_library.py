"""NCCL's library, called without PyTorch in between: both buffers are ours to choose."""

import ctypes
import ctypes.util

_UNIQUE_ID_BYTES = 128
_SUM = 0
_TYPES = {"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "half": 6,
          "float": 7, "double": 8, "bfloat16": 9}


class NcclError(Exception):
    """NCCL is missing, or a call of it failed."""


class UniqueId(ctypes.Structure):
    """The identifier that the ranks of a communicator share; the first rank creates it."""

    _fields_ = [("content", ctypes.c_byte * _UNIQUE_ID_BYTES)]


def load():
    """The library that PyTorch brought along, or the system's."""
    for name in ("libnccl.so.2", ctypes.util.find_library("nccl")):
        try:
            if name:
                return Nccl(ctypes.CDLL(name))
        except OSError:
            continue
    raise NcclError("libnccl.so.2 is neither loaded by PyTorch nor in the search path of "
                    "libraries; add its folder to LD_LIBRARY_PATH")


def version_text(code):
    """"2.29.3" for 22903, "2.7.8" for 2708."""
    unit = 10000 if code >= 10000 else 1000
    return f"{code // unit}.{code % unit // 100}.{code % 100}"


class Nccl:
    """The library; every call that fails is an NcclError."""

    def __init__(self, library):
        self._library = library

    def call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise NcclError(f"{name} failed with NCCL's status {status}; "
                            "NCCL_DEBUG=WARN tells more")

    def version(self):
        code = ctypes.c_int(0)
        self.call("ncclGetVersion", ctypes.byref(code))
        return version_text(code.value)

    def unique_id(self):
        made = UniqueId()
        self.call("ncclGetUniqueId", ctypes.byref(made))
        return bytes(made)

    def communicator(self, ranks, unique_id, rank):
        handle = ctypes.c_void_p()
        self.call("ncclCommInitRank", ctypes.byref(handle), ctypes.c_int(ranks),
                  UniqueId.from_buffer_copy(unique_id), ctypes.c_int(rank))
        return Communicator(self, handle, ranks, rank)


class Communicator:
    """One rank's part of a group of ranks; addresses are integers, in bytes of GPU memory."""

    def __init__(self, nccl, handle, ranks, rank):
        self._nccl = nccl
        self._handle = handle
        self._ranks = ranks
        self._rank = rank

    def destroy(self):
        self._nccl.call("ncclCommDestroy", self._handle)

    def prepare(self, plan, send, receive, message, stream):
        """A function without arguments that queues the collective once."""
        queue = _Queue(self._nccl, ctypes.c_int(_TYPES[plan.dtype]), self._handle,
                       ctypes.c_void_p(stream))
        count = ctypes.c_size_t(message.count)
        root = ctypes.c_int(max(plan.kind.root, 0))
        share = message.size_bytes // self._ranks
        if plan.collective == "alltoall":
            exchanges = [(send + peer * share, peer, receive + peer * share, peer)
                         for peer in range(self._ranks)]
            return lambda: queue.exchange(count, exchanges)
        if plan.collective == "sendrecv":
            following = (self._rank + 1) % self._ranks
            previous = (self._rank - 1) % self._ranks
            return lambda: queue.exchange(count, [(send, following, receive, previous)])
        name, options = {
            "all_reduce": ("ncclAllReduce", [_SUM]),
            "all_gather": ("ncclAllGather", []),
            "reduce_scatter": ("ncclReduceScatter", [_SUM]),
            "broadcast": ("ncclBroadcast", [root]),
            "reduce": ("ncclReduce", [_SUM, root]),
        }[plan.collective]
        buffers = (ctypes.c_void_p(send), ctypes.c_void_p(receive))
        return lambda: queue.collective(name, buffers, count, options)

    def buffers_in_place(self, plan, buffer, message):
        """Returns a rank's send and receive addresses when both are in one buffer of the full side."""
        own_share = buffer + self._rank * (message.size_bytes // self._ranks)
        if plan.collective == "all_gather":
            return own_share, buffer
        if plan.collective == "reduce_scatter":
            return buffer, own_share
        return buffer, buffer


class _Queue:
    """Calls of one type of element on one stream."""

    def __init__(self, nccl, dtype, handle, stream):
        self._nccl = nccl
        self._dtype = dtype
        self._handle = handle
        self._stream = stream

    def collective(self, name, buffers, count, options):
        self._nccl.call(name, *buffers, count, self._dtype, *options, self._handle, self._stream)

    def exchange(self, count, exchanges):
        self._nccl.call("ncclGroupStart")
        for send, to_rank, receive, from_rank in exchanges:
            self._nccl.call("ncclSend", ctypes.c_void_p(send), count, self._dtype,
                            ctypes.c_int(to_rank), self._handle, self._stream)
            self._nccl.call("ncclRecv", ctypes.c_void_p(receive), count, self._dtype,
                            ctypes.c_int(from_rank), self._handle, self._stream)
        self._nccl.call("ncclGroupEnd")
