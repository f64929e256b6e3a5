"""Reads event streams (.orrs, docs/formats/orrs.md) with nothing but Python: for checks on GPU machines, where
orrery itself is not. It takes what is intact and says what is not. Packed chunks need the program zstd; recorders write plain ones."""

import shutil
import struct
import subprocess

_CHUNK_NAMES = {1: "HDR", 2: "STR", 3: "STK", 4: "MOD", 5: "FUN", 6: "EVT", 7: "OBJ", 8: "AGG", 9: "TMD",
                10: "TRC", 11: "COV", 12: "CAL"}
_HEADER = struct.Struct("<4sHHQIIIIII")
_RELATIVE = {"time", "address", "sequence", "reference", "object"}
_EVENT = "sequence:sequence time_ns:time thread:u "

# (chunk, kind): name and fields, as the table in the document has them.
SCHEMA = {
    (1, 1): ("Process", "producer:text host:text process:u rank:m world_size:m time_origin:u driver:text "
                        "toolkit:text framework:text"),
    (1, 2): ("Device", "device:u name:text uuid:text memory_bytes:m multiprocessors:m compute_major:m "
                       "compute_minor:m"),
    (1, 3): ("ClockPair", "device:u host_ns:time device_ns:s"),
    (1, 4): ("Setting", "key:text value:text"),
    (2, 1): ("String", "id:u text:text"),
    (3, 1): ("Stack", "id:u language:u frames:list"),
    (4, 1): ("Module", "id:u context:u hash:text name:u bytes:u"),
    (5, 1): ("Function", "id:u module:u name:u bytes:u has_tensor_maps:u"),
    (5, 2): ("SourceLine", "function:u pc:u file:u line:u"),
    (6, 1): ("ContextChange", _EVENT + "context:u device:u is_end:u"),
    (6, 2): ("StreamChange", _EVENT + "context:u device:u stream:u is_end:u"),
    (6, 3): ("Allocation", _EVENT + "object:object address:address bytes:u level:u flags:u device:u context:u "
                                    "stream:u stack:u pool:u requested_bytes:m total_allocated_bytes:m "
                                    "total_reserved_bytes:m"),
    (6, 4): ("Free", _EVENT + "object:object address:address level:u phase:u device:u stream:u stack:u "
                              "total_allocated_bytes:m total_reserved_bytes:m"),
    (6, 5): ("Copy", _EVENT + "source:address destination:address width_bytes:u kind:u device:u context:u stream:u "
                              "correlation:u is_async:u duration_ns:m height:u depth:u source_pitch:u "
                              "destination_pitch:u"),
    (6, 6): ("Set", _EVENT + "address:address width_bytes:u device:u context:u stream:u correlation:u is_async:u "
                             "duration_ns:m height:u pitch:u value:u"),
    (6, 7): ("Launch", _EVENT + "function:u device:u context:u stream:u correlation:u grid_x:u grid_y:u grid_z:u "
                                "block_x:u block_y:u block_z:u coverage:u duration_ns:m shared_bytes:u registers:u "
                                "stack:u reason:u inclusion_ppb:m graph:u graph_node:u cluster_x:u cluster_y:u "
                                "cluster_z:u"),
    (6, 8): ("LaunchEnd", _EVENT + "launch:reference result:u coverage:u"),
    (6, 9): ("DeviceTime", _EVENT + "work:reference duration_ns:m"),
    (6, 10): ("Synchronization", _EVENT + "kind:u device:u context:u stream:u event:u correlation:u duration_ns:m"),
    (6, 11): ("OperatorBegin", _EVENT + "name:u sequence_number:m scope:u forward_thread:u input_shapes:u stack:u"),
    (6, 12): ("OperatorEnd", _EVENT + "begin:reference"),
    (6, 13): ("RegionBegin", _EVENT + "name:u"),
    (6, 14): ("RegionEnd", _EVENT + "begin:reference"),
    (6, 15): ("Step", _EVENT + "number:u"),
    (6, 16): ("ManagedMemory", _EVENT + "action:u address:address bytes:u device:u stream:u count:u duration_ns:m"),
    (6, 17): ("OutOfMemory", _EVENT + "bytes:u device:u free_bytes:m"),
    (6, 18): ("GraphLaunch", _EVENT + "graph:u device:u context:u stream:u correlation:u num_nodes:u duration_ns:m"),
    (6, 19): ("ApiCall", _EVENT + "name:u api:u correlation:u duration_ns:m result:s"),
    (7, 1): ("Object", "id:object address:address bytes:u memory_class:u birth:m death:m device:u stream:u stack:u "
                       "name:u"),
    (8, 1): ("Touch", "launch:reference object:object read_bytes:u write_bytes:u sectors:u lanes:u warps:u "
                      "atomic_bytes:u coverage:u"),
    (8, 2): ("PageTouch", "launch:reference object:object page_bytes:u first_page:u form:u bitmap:text numbers:list"),
    (9, 1): ("TensorMap", "id:u address:address element_bytes:u shape:list strides_bytes:list box:list key:text"),
    (9, 2): ("LaunchMap", "launch:reference object:object map:u offset:u"),
    (9, 3): ("LaunchArgument", "launch:reference object:object address:address offset:u"),
    (10, 1): ("WarpAccess", "launch:reference address:address pc:u block:u warp:u access_bytes:u flags:u form:u "
                            "stride:s inactive_lanes:u offsets:list"),
    (11, 1): ("CoverageCount", "kind:u name:text count:u device:m launch:reference address:address"),
    (12, 1): ("Overhead", "phase:u total_ns:u count:u bytes:u device:m"),
}
_FIELDS = {key: [field.split(":") for field in fields.split()] for key, (_, fields) in SCHEMA.items()}


class NotAStream(Exception):
    """The file is something else."""


def schema_row(chunk, kind):
    """The row of the document's table."""
    fields = ", ".join(f"`{name}` {'Δ' if how in _RELATIVE else ''}{how}" for name, how in _FIELDS[chunk, kind])
    return f"| {chunk} {_CHUNK_NAMES[chunk]} | {kind} | `{SCHEMA[chunk, kind][0]}` | {fields} |"


def _make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _make_table()


def crc32c(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest = rest >> 8 ^ _TABLE[(rest ^ byte) & 0xFF]
    return rest ^ 0xFFFFFFFF


class _Bytes:
    """Varints of one record; behind its end everything is zero."""

    def __init__(self, data):
        self._data, self._place = data, 0

    def varint(self):
        value = shift = 0
        while self._place < len(self._data):
            byte = self._data[self._place]
            self._place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        return value

    def take(self, count):
        self._place += count
        return self._data[self._place - count:self._place]

    @property
    def left(self):
        return len(self._data) - self._place


def _unzigzag(code):
    return code >> 1 ^ -(code & 1)


def _value(how, record, registers):
    if how == "text":
        return bytes(record.take(record.varint()))
    if how == "list":
        return [record.varint() for _ in range(min(record.varint(), record.left))]
    code = record.varint()
    if how in _RELATIVE:
        registers[how] = registers[how] + _unzigzag(code) & 0xFFFFFFFFFFFFFFFF
        return registers[how]
    return _unzigzag(code) if how == "s" else code - 1 if how == "m" else code


class Stream:
    """All records by name, each a dictionary; texts are bytes."""

    def __init__(self):
        self._records = {}
        self.counts = {}  # of records that were not read, by chunk and kind
        self.damaged = 0

    def add(self, name, record):
        self._records.setdefault(name, []).append(record)

    def records(self, name):
        return self._records.get(name, [])

    def count(self, name):
        """Returns the number of records of this name, read or not."""
        skipped = sum(number for key, number in self.counts.items() if SCHEMA.get(key, ("",))[0] == name)
        return skipped + len(self.records(name))

    def texts(self):
        """The strings by their numbers."""
        return {string["id"]: string["text"].decode(errors="replace") for string in self.records("String")}

    def kernels(self):
        """(launch, name of its kernel) in the order of the host."""
        texts = self.texts()
        names = {function["id"]: texts.get(function["name"], "?") for function in self.records("Function")}
        launches = sorted(self.records("Launch"), key=lambda launch: launch["sequence"])
        return [(launch, names.get(launch["function"], "?")) for launch in launches]


def _read_chunk(chunk, first_sequence, count, payload, stream):
    records = _Bytes(payload)
    registers = dict.fromkeys(_RELATIVE, 0)
    registers["sequence"] = first_sequence
    for _ in range(count):
        record = _Bytes(records.take(records.varint()))
        kind = record.varint()
        fields = _FIELDS.get((chunk, kind))
        if fields is not None:
            stream.add(SCHEMA[chunk, kind][0], {name: _value(how, record, registers) for name, how in fields})


def _count_chunk(chunk, payload, counts):
    """Steps over records: a length, and a body that begins with the kind."""
    place = 0
    while place < len(payload):
        length, shift, digit = 0, 0, 0x80
        while digit & 0x80:
            digit = payload[place]
            length |= (digit & 0x7F) << shift
            place, shift = place + 1, shift + 7
        counts[chunk, payload[place]] = counts.get((chunk, payload[place]), 0) + 1
        place += length


def _unpacked(payload, codec):
    if codec == 0:
        return payload
    if codec != 1 or not shutil.which("zstd"):
        raise NotAStream(f"has chunks that are packed (codec {codec}), which needs the program zstd")
    return subprocess.run(["zstd", "-dqc"], input=payload, capture_output=True, check=True).stdout


def parse(data, chunks=None):
    """All records, or those of the chunks with these names; of the others only how many there are, unchecked."""
    if data[:4] != b"ORRS" or len(data) < 16 or struct.unpack_from("<H", data, 4)[0] != 1:
        raise NotAStream("is no event stream of version 1")
    stream, place = Stream(), 16
    while place + _HEADER.size <= len(data):
        head = data[place:place + _HEADER.size]
        marker, chunk, codec, first, count, _, stored, _, payload_crc, head_crc = _HEADER.unpack(head)
        payload = data[place + _HEADER.size:place + _HEADER.size + stored]
        is_whole = marker == b"ORCK" and crc32c(head[:36]) == head_crc and len(payload) == stored
        if not is_whole:
            break
        place += _HEADER.size + stored
        if chunks is not None and _CHUNK_NAMES.get(chunk) not in chunks:
            _count_chunk(chunk, _unpacked(payload, codec), stream.counts)
            continue
        if crc32c(payload) == payload_crc:
            _read_chunk(chunk, first, count, _unpacked(payload, codec), stream)
        else:
            stream.damaged += 1
    stream.damaged += 1 if place < len(data) else 0
    return stream


def read(path, chunks=None):
    with open(path, "rb") as file:
        return parse(file.read(), chunks)
