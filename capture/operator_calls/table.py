"""Makes rows of recorded calls: what each read and wrote, and the kernels that it launched itself, not those of calls below."""

import bisect
import collections
import csv
import gzip
import json

ELEMENT_BYTES = {"float": 4, "double": 8, "long int": 8, "int": 4, "short int": 2, "c10::BFloat16": 2, "c10::Half": 2, "bool": 1,
                 "unsigned char": 1, "signed char": 1, "c10::complex<float>": 8, "c10::complex<double>": 16, "c10::Float8_e4m3fn": 1}
COLUMNS = ("operator", "read_bytes", "written_bytes", "kernels", "kernel_us", "waits", "label", "passes")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
MARK = "measured: "


def _tensors(value, shape, kind):
    if kind.startswith("Tensor("):
        yield value, shape, kind[len("Tensor("):-1]
    elif kind.startswith("GenericList["):
        for part in zip(value, shape, kind[len("GenericList["):-1].split(",")):
            yield from _tensors(*part)


def _side(side):
    return [tensor for part in zip(side["values"], side["shapes"], side["types"]) for tensor in _tensors(*part)]


def _elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _is_sparse(value, shape):
    return value[5] == "" and value[3] == 0 and _elements(shape) > 0


class SparseTensors:
    """The indices and values of sparse tensors, which only other calls name: those that make them or return the parts."""

    def __init__(self, nodes):
        self._parts = collections.defaultdict(dict)
        for node in nodes:
            name = node["name"].removeprefix("aten::")
            inputs, outputs = _side(node["inputs"]), _side(node["outputs"])
            if name in ("_indices", "_values", "indices", "values") and inputs and outputs:
                self._parts[inputs[0][0][0]].setdefault(name.strip("_"), outputs[0])
            elif name.startswith("_sparse_coo_tensor") and outputs and len(inputs) >= 2:
                self._parts[outputs[0][0][0]].update(indices=inputs[0], values=inputs[1])

    def of(self, tensor):
        value, shape, _ = tensor
        return list(self._parts[value[0]].values()) if _is_sparse(value, shape) else [tensor]


def _bytes(tensors, sparse):
    seen, total = set(), 0
    for tensor in tensors:
        for value, shape, kind in sparse.of(tensor):
            place = (value[1], value[2], tuple(shape))
            if str(value[5]).startswith("cuda") and place not in seen:
                seen.add(place)
                total += _elements(shape) * ELEMENT_BYTES.get(kind, 0)
    return total


LONGEST_PASS = 1 << 14    # a longer transform is made in two passes, one of real numbers in three
LARGEST_PRIME = 127       # of the length of a transform; others are made by a convolution
CONVOLUTION_PASSES = 4


def _passes_over(length):
    rest, prime = length, 2
    while prime * prime <= rest:
        rest, prime = (rest // prime, prime) if rest % prime == 0 else (rest, prime + 1)
    return CONVOLUTION_PASSES if rest > LARGEST_PRIME else 2 if length > LONGEST_PASS else 1


def passes_of(node):
    """The passes of a Fourier transform over its tensors, as orrery/kernel/aten/unlisted.cc counts them; 1 for all others."""
    if not node["name"].startswith("aten::_fft_"):
        return 1
    (_, taken, _), (_, made, _) = _side(node["inputs"])[0], _side(node["outputs"])[0]
    lengths = [max(taken[dim], made[dim]) for dim in node["inputs"]["values"][1]]
    is_real = not node["name"].endswith("c2c")
    return sum(map(_passes_over, lengths)) + (1 if is_real and max(lengths) > LONGEST_PASS else 0)


class HostCalls:
    """The calls of each thread by time."""

    def __init__(self, events):
        self._of_thread = collections.defaultdict(list)
        for event in events:
            if event.get("cat") == "cpu_op":
                self._of_thread[event["pid"], event["tid"]].append(event)
        for calls in self._of_thread.values():
            calls.sort(key=lambda event: (event["ts"], -event["dur"]))
        self._begins = {thread: [event["ts"] for event in calls] for thread, calls in self._of_thread.items()}
        self._parents = {}
        for calls in self._of_thread.values():
            around = []
            for call in calls:
                while around and around[-1]["ts"] + around[-1]["dur"] < call["ts"] + call["dur"] / 2:
                    around.pop()
                self._parents[id(call)] = around[-1] if around else None
                around.append(call)

    def all(self):
        return (event for calls in self._of_thread.values() for event in calls)

    def parent(self, call):
        return self._parents[id(call)]

    def around(self, event):
        """The innermost call in which an event of the runtime lies, if there is one."""
        thread = event["pid"], event["tid"]
        middle = event["ts"] + event["dur"] / 2
        place = bisect.bisect_right(self._begins.get(thread, []), event["ts"]) - 1
        call = self._of_thread[thread][place] if place >= 0 else None
        while call and call["ts"] + call["dur"] < middle:
            call = self.parent(call)
        return call


def rows_of(graph, recording):
    """Yields rows of the calls in marked ranges, in order of begin; `graph` and `recording` are the parsed files."""
    events = recording["traceEvents"]
    marks = sorted((event["ts"], event["ts"] + event["dur"], event["name"][len(MARK):]) for event in events
                   if event.get("cat") == "user_annotation" and event["name"].startswith(MARK))
    begins = [begin for begin, *_ in marks]

    def label_at(time):
        place = bisect.bisect_right(begins, time) - 1
        return marks[place][2] if place >= 0 and time <= marks[place][1] else None

    calls = HostCalls(events)
    launches = {event["args"]["correlation"]: event for event in events
                if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}
    kernels = collections.defaultdict(list)
    for event in events:
        launch = launches.get(event.get("args", {}).get("correlation")) if event.get("cat") in (
            "kernel", "gpu_memcpy", "gpu_memset") else None
        call = calls.around(launch) if launch and label_at(launch["ts"]) else None
        if call:
            kernels[id(call)].append(event["dur"])
    waits = collections.Counter(id(calls.around(event)) for event in events if event.get("name") in WAITS and label_at(event["ts"]))
    nodes = {attribute["value"]: node for node in graph["nodes"] for attribute in node.get("attrs", []) if attribute["name"] == "rf_id"}
    sparse = SparseTensors(graph["nodes"])
    passing_on = {id(parent) for call in calls.all() if label_at(call["ts"])
                  for parent in [calls.parent(call)] if parent and parent["name"] == call["name"]}
    for call in sorted(calls.all(), key=lambda event: event["ts"]):
        node = nodes.get(call["args"].get("Record function id"))
        label = label_at(call["ts"])
        if label and node and node["name"] == call["name"] and id(call) not in passing_on:
            durations = kernels[id(call)]
            yield (call["name"], _bytes(_side(node["inputs"]), sparse), _bytes(_side(node["outputs"]), sparse),
                   len(durations), round(sum(durations), 3), waits[id(call)], label, passes_of(node))


def write(base, out):
    """Writes the rows of BASE.et.json.gz and BASE.kineto.json.gz that launched kernels or waited for them."""
    with gzip.open(f"{base}.et.json.gz") as graph, gzip.open(f"{base}.kineto.json.gz") as recording:
        rows = [row for row in rows_of(json.load(graph), json.load(recording)) if row[3] > 0 or row[5] > 0]
    with gzip.open(out, "wt", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
