"""Lays out one training step in time. Times are nanoseconds from its beginning."""

import contextlib
import dataclasses
import functools

COMPUTE_STREAM, COMMUNICATION_STREAM = 7, 20
MULTIPROCESSORS = 132
MODULE_PY = "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py"
MEGATRON = "/workspace/megatron-lm/megatron"


@dataclasses.dataclass
class HostOp:
    index: int
    name: str
    arguments: str  # JSON fields, each followed by ", "
    is_autograd: bool
    begin_ns: int
    end_ns: int = 0
    sequence: int = -1  # of autograd, counted inside the step
    arrow: str = ""  # the end of a forward-backward arrow that it carries: s or f
    is_annotation: bool = False


@dataclasses.dataclass
class DeviceWork:
    category: str
    name: str
    arguments: str  # JSON fields that follow the correlation
    stream: int = COMPUTE_STREAM
    is_collective: bool = False
    begin_ns: int = 0
    end_ns: int = 0


@dataclasses.dataclass
class RuntimeCall:
    name: str
    callback_id: int
    is_autograd: bool
    op: int  # index of the operator around it
    begin_ns: int
    end_ns: int = 0
    work: DeviceWork = None


@dataclasses.dataclass
class PythonCall:
    index: int
    name: str
    module_id: int
    parent: int
    begin_ns: int
    end_ns: int = 0


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    registers: int
    shared_memory: int
    grid: int
    block: int
    duration_ns: int = 5000

    @functools.cached_property
    def arguments(self):
        blocks = self.grid / MULTIPROCESSORS
        warps = blocks * self.block / 32
        return (f'"registers per thread": {self.registers},      "shared memory": {self.shared_memory},      '
                f'"blocks per SM": {blocks:.6f},      "warps per SM": {warps:.6f},      '
                f'"grid": [{self.grid}, 1, 1],      "block": [{self.block}, 1, 1],      '
                f'"est. achieved occupancy %": {min(100, int(warps * 100 / 64))}')


# Arguments of operators: (dims, type, value of a scalar or list).
def tensor(*dims):
    return dims, "c10::BFloat16", ""


def scalar(value):
    return (), "Scalar", value


def scalars(*values):
    return [scalar(value) for value in values]


def int_list(value):
    return (), "ScalarList", value


NONE = ((), "", "")
TENSOR_LIST = ((), "TensorList", "")


def _strides(dims):
    strides = [1] * len(dims)
    for i in range(len(dims) - 1, 0, -1):
        strides[i - 1] = strides[i] * dims[i]
    return str(strides)


@functools.lru_cache(maxsize=None)
def op_arguments(inputs):
    """The shape fields of an operator, as the profiler records them."""
    fields = {"Concrete Inputs": [f'"{value}"' for _, _, value in inputs],
              "Input type": [f'"{kind}"' for _, kind, _ in inputs],
              "Input Strides": [_strides(dims) for dims, _, _ in inputs],
              "Input Dims": [str(list(dims)) for dims, _, _ in inputs]}
    return "".join(f'"{name}": [{", ".join(texts)}], ' for name, texts in fields.items())


def mix_bits(key):
    """Scatters the bits of a counter or key (the finaliser of SplitMix64)."""
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9 & (2**64 - 1)
    key = (key ^ (key >> 27)) * 0x94d049bb133111eb & (2**64 - 1)
    return key ^ (key >> 31)


class StepBuilder:
    """Lays out a step in time, the way a PyTorch program runs: calls nest, the clock only goes forward, each
    stream does one thing after another, and autograd keeps a tape of what it has to undo."""

    def __init__(self, seed, ranks):
        self.ops, self.calls, self.memory, self.python_calls, self.device_ranges = [], [], [], [], []
        self.num_sequences = 0
        self.now_ns = 0
        self.ranks = ranks  # of the group, as JSON
        self._random_state = seed
        self._is_autograd = False
        self._open_ops, self._open_python, self._tape = [], [], []
        self._stream_free_ns = {COMPUTE_STREAM: 0, COMMUNICATION_STREAM: 0}
        self._blocks = []
        self._next_address = 0x7f0000000000
        self._allocated = 24 << 30
        self._num_modules = 0

    def _random(self, low, high):
        self._random_state = (self._random_state + 0x9e3779b97f4a7c15) & (2**64 - 1)
        return low + mix_bits(self._random_state) % (high - low + 1)

    def _pass(self, low_ns, high_ns):
        self.now_ns += self._random(low_ns, high_ns)

    @contextlib.contextmanager
    def op(self, name, *inputs):
        self._pass(300, 1500)
        op = HostOp(len(self.ops), name, op_arguments(inputs), self._is_autograd, self.now_ns)
        self.ops.append(op)
        self._open_ops.append(op.index)
        self._pass(300, 2500)
        yield op
        self._pass(200, 900)
        op.end_ns = self.now_ns
        self._open_ops.pop()

    def leaf(self, name, *inputs):
        with self.op(name, *inputs):
            pass

    @contextlib.contextmanager
    def annotation(self, name):
        """An annotation on the host, mirrored on the device over the work launched inside it."""
        with self.op(name) as op:
            op.is_annotation, op.arguments = True, ""
            yield
        work = [call.work for call in self.calls if call.work and call.begin_ns >= op.begin_ns]
        if work:
            self.device_ranges.append((op, min(one.begin_ns for one in work) - 1,
                                       max(one.end_ns for one in work) + 1))

    @contextlib.contextmanager
    def grad_op(self, name, inputs, backward, undo):
        """An operator that autograd records; the backward pass runs `undo` under the name `backward`."""
        with self.op(name, *inputs) as op:
            op.sequence, op.arrow = self.num_sequences, "s"
            self.num_sequences += 1
            self._tape.append((backward, op.sequence, undo))
            yield

    def undo_all(self, gradient):
        """The backward pass: the tape from its end, on the autograd thread."""
        self._is_autograd = True
        for name, sequence, undo in reversed(self._tape):
            with self.op("autograd::engine::evaluate_function: " + name) as engine:
                engine.sequence, engine.arguments = sequence, ""
                with self.op(name, gradient) as op:
                    op.sequence, op.arrow = sequence, "f"
                    undo()
        self.free(len(self._blocks))
        self._is_autograd = False

    @contextlib.contextmanager
    def python(self, name, module_id=-1):
        self._pass(150, 700)
        parent = self._open_python[-1] if self._open_python else -1
        call = PythonCall(len(self.python_calls), name, module_id, parent, self.now_ns)
        self.python_calls.append(call)
        self._open_python.append(call.index)
        yield
        self._pass(100, 500)
        call.end_ns = self.now_ns
        self._open_python.pop()

    @contextlib.contextmanager
    def module(self, kind, file, line):
        """The frames around the call of an nn.Module."""
        number = self._num_modules
        self._num_modules += 1
        with self.python(f"nn.Module: {kind}_{number}", number), \
                self.python(f"{MODULE_PY}(1769): _wrapped_call_impl"), self.python(f"{MODULE_PY}(1780): _call_impl"):
            self.built_in("<built-in method _get_tracing_state of PyCapsule object at 0x7bcd0476bb40>")
            with self.python(f"{MEGATRON}/core/{file}({line}): forward"):
                yield

    def built_in(self, name):
        with self.python(name):
            pass

    def get_attribute(self):
        self.built_in(f"{MODULE_PY}(1952): __getattr__")

    def call(self, name, callback_id):
        """A call of the runtime, made by the innermost open operator."""
        call = RuntimeCall(name, callback_id, self._is_autograd, self._open_ops[-1], self.now_ns)
        self._pass(400, 2000)
        call.end_ns = self.now_ns
        self.calls.append(call)
        self._pass(100, 300)
        return call

    def _launch(self, name, callback_id, work, duration_ns):
        launch = self.call(name, callback_id)
        work.begin_ns = max(self._stream_free_ns[work.stream] + 800, launch.end_ns + 1500)
        work.end_ns = work.begin_ns + duration_ns + self._random(0, duration_ns // 20)
        self._stream_free_ns[work.stream] = work.end_ns
        launch.work = work

    def kernel(self, kernel):
        is_gemm = kernel.name.startswith("nvjet")
        self._launch("cuLaunchKernelEx" if is_gemm else "cudaLaunchKernel", 652 if is_gemm else 211,
                     DeviceWork("kernel", kernel.name, kernel.arguments), kernel.duration_ns)

    def collective(self, kernel, name, elements):
        arguments = (f'{kernel.arguments}, "Collective name": "{name}", "In msg nelems": {elements}, '
                     f'"Out msg nelems": {elements}, "Group size": 8, "dtype": "BFloat16", "In split size": "[]", '
                     '"Out split size": "[]", "Process Group Name": "1", "Process Group Description": '
                     f'"tensor_parallel", "Process Group Ranks": "{self.ranks}"')
        free = self._stream_free_ns
        free[COMMUNICATION_STREAM] = max(free.values())
        self._launch("cudaLaunchKernelExC", 430,
                     DeviceWork("kernel", kernel.name, arguments, COMMUNICATION_STREAM, is_collective=True),
                     kernel.duration_ns)
        # The next kernel on the compute stream waits for the result.
        free[COMPUTE_STREAM] = free[COMMUNICATION_STREAM]

    def transfer(self, category, call, callback_id, name, num_bytes, duration_ns):
        arguments = f'"bytes": {num_bytes}, "memory bandwidth (GB/s)": {num_bytes / duration_ns}'
        self._launch(call, callback_id, DeviceWork(category, name, arguments), duration_ns)

    def memcpy(self, name, num_bytes):
        self.transfer("gpu_memcpy", "cudaMemcpyAsync", 41, name, num_bytes, 1200 + num_bytes // 50)

    def memset(self, num_bytes):
        self.transfer("gpu_memset", "cudaMemsetAsync", 51, "Memset (Device)", num_bytes, 700 + num_bytes // 2000)

    def wait_for_device(self):
        last_ns = max(self.now_ns, *self._stream_free_ns.values())
        call = self.call("cudaStreamSynchronize", 131)
        self.now_ns = call.end_ns = max(self.now_ns, last_ns + 2000)
        self._pass(100, 300)

    def _record_memory(self, num_bytes, address):
        self._allocated += num_bytes
        self.memory.append((self._is_autograd, self.now_ns, num_bytes, address, self._allocated))
        self._pass(100, 400)

    def allocate(self, num_bytes):
        self._blocks.append((num_bytes, self._next_address))
        self._next_address += num_bytes
        self._record_memory(*self._blocks[-1])

    def free(self, count=1):
        """Frees the oldest blocks."""
        for num_bytes, address in self._blocks[:count]:
            self._record_memory(-num_bytes, address)
        del self._blocks[:count]
