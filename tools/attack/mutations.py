"""Mutations of files by format. What has lengths, checksums or is packed is sealed again, so that a mutation reaches the parser
behind them."""

import gzip
import io
import json
import pathlib
import pickle
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import orrs_writer  # noqa: E402
from attack import xxhash64  # noqa: E402

MARK = "<attack-mark>"  # must not reach a page as a tag
NUMBERS = ["0", "-0", "-1", "1e308", "-1e308", "1e-320", "1e999", "NaN", "Infinity", "-Infinity", "0x10", "2147483648", "4294967295",
           "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e15", "0.1"]
NAMES = ["", "x" * 30_000, "\x1b[2J\x1b]0;title\x07", "\u202eRTL\u2066", "\udcff\udcfe", "quote\"'`", "line\nbreak: true", "nul\0byte",
         "</script>" + MARK, "%s%n", "../../../etc/passwd", "$(touch owned)", "a,b;c\td", "\ufeff", "\U0010ffff", "nccl:all_reduce",
         "ProfilerStep#1"]
NESTED = 20_000


def packed_zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


def unpacked_zstd(data):
    return subprocess.run(["zstd", "-dqc"], input=data, capture_output=True, check=True).stdout


def mutated_bytes(rng, data):
    """Flipped bits, pieces deleted, doubled, overwritten or swapped, or the end cut off."""
    data = bytearray(data)
    if not data:
        return rng.randbytes(8)
    for _ in range(rng.choice((1, 1, 2, 8))):
        start = rng.randrange(len(data))
        end = min(len(data), start + rng.choice((1, 4, 8, 64, 1000)))
        other = rng.randrange(len(data))
        way = rng.randrange(6)
        if way == 0:
            data[start] ^= 1 << rng.randrange(8)
        elif way == 1 and len(data) > end - start:
            del data[start:end]
        elif way == 2:
            data[other:other] = data[start:end]
        elif way == 3:
            data[start:start + 8] = rng.choice((b"\xff", b"\0", b"\x80", b"\x7f")) * min(8, len(data) - start)
        elif way == 4:
            data[other:other + end - start] = data[start:end]
        elif start > 0 and rng.random() < 0.3:
            del data[start:]
    return bytes(data)


def same_length(rng, data):
    """Other values in the same places, for columns and directories."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 2, 5))):
        width = rng.choice((1, 4, 8))
        if len(data) >= width:
            start = rng.randrange(len(data) - width + 1)
            value = rng.choice((0, 1, -1, 2**(8 * width - 1), 2**(8 * width - 1) - 1, rng.getrandbits(8 * width)))
            data[start:start + width] = (value % 2**(8 * width)).to_bytes(width, "little")
    return bytes(data)


def mutated_text(rng, data):
    """A word or number replaced by a hostile one, or lines deleted, doubled, moved: logs, CSV, YAML."""
    text = data.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 2, 4))):
        lines = text.split("\n")
        way = rng.randrange(5)
        if way < 3:
            words = list(re.finditer(r"[-+]?\d[\d.eE+-]*|[A-Za-z_][\w.-]*", text[:500_000]))
            if words:
                word = rng.choice(words)
                by = rng.choice(NUMBERS) if rng.random() < 0.6 else rng.choice(NAMES)
                text = text[:word.start()] + by + text[word.end():]
            continue
        start = rng.randrange(len(lines))
        piece = lines[start:start + rng.choice((1, 1, 5))]
        if way == 3:
            del lines[start:start + len(piece)]
        else:
            at = rng.randrange(len(lines))
            lines[at:at] = piece
        text = "\n".join(lines)
    return text.encode("utf-8", "surrogateescape")


def hostile_value(rng):
    """A value of Python for trees that are not text."""
    numbers = [0, -1, 2**31, 2**63 - 1, -2**63, 2**64, 2**200, float("nan"), float("inf"), 1e308, -1e308, True, None]
    return rng.choice([rng.choice(numbers), rng.choice(NAMES), [], {}, [[[[0]]]], {"a": {"b": 1}}, [1, "x", None]])


def set_everywhere(tree, key, value):
    """Gives every dictionary that has the key this value."""
    for node in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(node, (dict, list)):
            set_everywhere(node, key, value)
    if isinstance(tree, dict) and key in tree:
        tree[key] = value


def mutate_tree(rng, tree, make_value):
    """Replaces, deletes, doubles or renames one place of a tree of dictionaries and lists, or one key everywhere; returns the tree."""
    node, parent, key = tree, None, None
    while isinstance(node, (dict, list)) and node and (parent is None or rng.random() < 0.85):
        parent, key = node, rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = parent[key]
    if parent is None:
        return make_value(rng)
    way = rng.randrange(7)
    if way < 3:
        parent[key] = make_value(rng)
    elif way == 6 and isinstance(key, str):
        set_everywhere(tree, key, make_value(rng))
    elif way == 3:
        del parent[key]
    elif isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), node)
    else:
        parent[rng.choice([*parent, *NAMES])] = node
    return tree


def mutated_json(rng, data):
    """Another tree, whose hostile numbers are tokens that no value of Python has."""
    tokens = []

    def make_value(random):
        if random.random() < 0.5:
            return hostile_value(random)
        tokens.append(random.choice([*NUMBERS, "[" * NESTED + "]" * NESTED, '{"a":' * NESTED + "0" + "}" * NESTED]))
        return f"@raw {len(tokens)}@"

    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutated_text(rng, data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        tree = mutate_tree(rng, tree, make_value)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    for number, token in enumerate(tokens, 1):
        text = text.replace(f'"@raw {number}@"', token, 1).replace(f'"@raw {number}@"', token if len(token) < 100 else "0")
    return text.encode("utf-8", "surrogatepass" if rng.random() < 0.5 else "replace")


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("calls code")


def mutated_pickle(rng, data):
    try:
        tree = PlainUnpickler(io.BytesIO(data)).load()
        for _ in range(rng.choice((1, 1, 2, 4))):
            tree = mutate_tree(rng, tree, hostile_value)
        return pickle.dumps(tree, protocol=rng.choice((2, 3, 4, 5)))
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, TypeError, UnicodeError, AttributeError):
        return mutated_bytes(rng, data)


def read_varint(data, place):
    value = shift = 0
    while True:
        value |= (data[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not data[place - 1] & 0x80:
            return value, place


def fields_of(data):
    """The fields of a Protobuf message as (number, wire type, content); None where it is no message."""
    fields, place = [], 0
    try:
        while place < len(data):
            tag, place = read_varint(data, place)
            wire, start = tag & 7, place
            if wire == 2:
                length, start = read_varint(data, place)
                place = start + length
            elif wire == 0:
                _, place = read_varint(data, place)
            else:
                place += {1: 8, 5: 4}[wire]
            if tag < 8 or place > len(data):
                return None
            fields.append((tag >> 3, wire, data[start:place]))
    except (IndexError, KeyError):
        return None
    return fields


def message_of(fields):
    written = b""
    for number, wire, content in fields:
        written += orrs_writer.varint(number << 3 | wire) + (orrs_writer.varint(len(content)) if wire == 2 else b"") + content
    return written


def mutated_protobuf(rng, data, depth=0):
    """One field at some depth changed, deleted or doubled; the lengths around it fit."""
    fields = fields_of(data)
    if not fields:
        return mutated_bytes(rng, data) if depth == 0 or rng.random() < 0.5 else rng.choice(NAMES).encode("utf-8", "surrogateescape")
    at = rng.randrange(len(fields))
    number, wire, content = fields[at]
    if wire == 2 and rng.random() < 0.9:
        fields[at] = (number, wire, mutated_protobuf(rng, content, depth + 1))
    elif rng.random() < 0.2:
        del fields[at]
    elif rng.random() < 0.2:
        fields.append(fields[at])
    elif wire == 0:
        fields[at] = (number, wire, orrs_writer.varint(rng.choice((0, 1, 2**31, 2**63 - 1, 2**64 - 1, rng.getrandbits(40)))))
    else:
        fields[at] = (number, wire, rng.randbytes(len(content)))
    return message_of(fields)


def sqlite_statements(rng, connection):
    """Changes of a random table; values of any type fit into any column of SQLite."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    table = rng.choice(tables)
    columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
    column, value = rng.choice(columns), hostile_value(rng)
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        value = float(value)
    elif isinstance(value, (list, dict)):
        value = bytes(8)
    elif isinstance(value, str):
        value = value if value.isprintable() else value.encode("utf-8", "surrogateescape")
    one_row = f'rowid = (SELECT rowid FROM "{table}" ORDER BY rowid LIMIT 1 OFFSET {rng.randrange(50)})'
    return rng.choice([(f'UPDATE "{table}" SET "{column}" = ? WHERE {one_row}', [value])] * 4 + [
        (f'UPDATE "{table}" SET "{column}" = ?', [value]), (f'DELETE FROM "{table}" WHERE {one_row}', []),
        (f'INSERT INTO "{table}" SELECT * FROM "{table}" LIMIT 100', []), (f'DROP TABLE "{table}"', []),
        (f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"', [])])


def mutated_sqlite(rng, data):
    """Rows and columns changed by SQL, or bytes of pages."""
    if rng.random() < 0.3:
        return mutated_bytes(rng, data)
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(data)
        file.flush()
        connection = sqlite3.connect(file.name, isolation_level=None)
        for _ in range(rng.choice((1, 1, 3))):
            try:
                connection.execute(*sqlite_statements(rng, connection))
            except (sqlite3.Error, UnicodeError, IndexError):
                pass
        connection.close()
        return pathlib.Path(file.name).read_bytes()


def mutated_orrs(rng, data):
    """A chunk of an event stream with other records or another header; both checksums fit."""
    starts = [found.start() for found in re.finditer(b"ORCK", data)]
    if not starts or rng.random() < 0.1:
        return mutated_bytes(rng, data)
    start = rng.choice(starts)
    head = list(struct.unpack_from("<HHQIIIII", data, start + 4))
    payload = data[start + 40:start + 40 + head[5]]
    rest = data[start + 40 + head[5]:]
    if rng.random() < 0.25:
        head[rng.choice((0, 1, 2, 3, 4, 6))] = rng.choice((0, 1, 9, 2**16 - 1))
    else:
        payload = rng.choice((mutated_bytes, same_length))(rng, payload)
        head[4] = head[5] = len(payload)
    if rng.random() < 0.2:
        head[1], payload = 1, packed_zstd(payload)
        head[5] = len(payload)
    head[7] = orrs_writer.crc32c(payload)
    written = b"ORCK" + struct.pack("<HHQIIIII", *head)
    return data[:start] + written + struct.pack("<I", orrs_writer.crc32c(written)) + payload + rest


def blocks_of(data, directory, end):
    """The places of block entries in the directory of a container: those whose checksum is that of the bytes they name."""
    for at in range(directory, end - 39):
        offset, stored = struct.unpack_from("<QI", data, at)
        if 16 <= offset and offset + stored <= directory and data[at + 15] == 0:
            if xxhash64.digest(data[offset:offset + stored]) == struct.unpack_from("<Q", data, at + 32)[0]:
                yield at


def sealed_orr(head, directory):
    """A container of header, blocks and this directory, with the footer that fits."""
    seed = xxhash64.digest(head[:16], len(head))
    return head + directory + struct.pack("<QQQ", len(head), len(directory), xxhash64.digest(directory, seed)) + b"ORR end\n"


def mutated_orr(rng, data):
    """Values of a block, its entry, or the directory of a container; all checksums fit."""
    offset, length = struct.unpack_from("<QQ", data, len(data) - 32)
    head, directory = data[:offset], bytearray(data[offset:offset + length])
    blocks = list(blocks_of(data, offset, offset + length))
    if not blocks or rng.random() < 0.3:
        return sealed_orr(head, rng.choice((same_length, same_length, mutated_bytes))(rng, bytes(directory)))
    at = rng.choice(blocks) - offset
    place, stored, transform, width, packing, _, base, first, _ = struct.unpack_from("<QIBBBBQQQ", directory, at)
    values = data[place:place + stored]
    if values and rng.random() < 0.6:
        values, packing = same_length(rng, unpacked_zstd(values) if packing == 1 else values), 0
    else:
        base, first = rng.choice((base, 0, 5, 2**63, 2**64 - 1)), rng.choice((first, 0, 7, 2**63 - 1, 2**32 - 1))
        transform, width = rng.choice((transform, transform, 0, 1)), rng.choice((width, width, 0, 1, 8))
    struct.pack_into("<QIBBBBQQQ", directory, at, len(head), len(values), transform, width, packing, 0, base, first,
                     xxhash64.digest(values))
    return sealed_orr(head + values, bytes(directory))


def mutated_model(rng, data):
    """The content of a file of `orrery fit`, packed and sealed again."""
    content = rng.choice((mutated_bytes, same_length))(rng, unpacked_zstd(data[40:]))
    rest = packed_zstd(content)
    rest = struct.pack("<QQ", len(content), len(rest)) + rest
    return data[:16] + struct.pack("<Q", xxhash64.digest(rest)) + rest


BY_START = [(b"\x89ORR\r\n", mutated_orr), (b"ORRS", mutated_orrs), (b"ORRMODEL", mutated_model), (b"SQLite format 3", mutated_sqlite),
            (b"\x80", mutated_pickle), (b"{", mutated_json), (b"[", mutated_json)]


def mutator_of(name, data):
    if re.search(r"\.(pb|et|pftrace)(\.gz)?$", name):
        return mutated_protobuf
    for start, mutator in BY_START:
        if data.lstrip()[:len(start)] == start:
            return mutator
    return mutated_bytes if b"\0" in data[:1000] else mutated_text


def mutated(rng, name, data):
    """A mutation of the file as its format wants it, or sometimes of its bytes; what was packed is packed again."""
    if rng.random() < 0.1:
        return mutated_bytes(rng, data)
    if data[:2] == b"\x1f\x8b":
        return gzip.compress(mutated(rng, name, gzip.decompress(data)), mtime=0, compresslevel=1)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return packed_zstd(mutated(rng, name, unpacked_zstd(data)))
    return mutator_of(name, data)(rng, data)
