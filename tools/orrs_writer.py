"""Bytes of event streams (docs/formats/orrs.md), for programs that write streams directly."""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "capture"))

from orrs_reader import crc32c  # noqa: E402


def varint(value):
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def zigzag(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def file_header(major=1, minor=0):
    return b"ORRS" + struct.pack("<HH8x", major, minor)


def sealed_chunk(kind, first_sequence, num_records, payload):
    """An uncompressed chunk with its two checksums."""
    head = b"ORCK" + struct.pack("<HHQIIIII", kind, 0, first_sequence, num_records, len(payload), len(payload), 0,
                                 crc32c(payload))
    return head + struct.pack("<I", crc32c(head)) + payload
