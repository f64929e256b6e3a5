"""Writes an NVF1 recording from a table of counters (see samples.txt) to standard output."""

import struct
import sys

BEGIN_US = 1_700_000_000_000_000
ROUND_US = 1_000
COUNTERS = [(138, 0), (138, 1), (139, 0), (139, 1)]  # field (138 sent, 139 received) and link
UNSIGNED_LONG_LONG = 3
NVML_ERROR_NOT_SUPPORTED = 3


def record(time_us, counter, text):
    refused = text == "-"
    return struct.pack("<QIIqqIIQ", time_us * 1_000, *counter, time_us, 7, UNSIGNED_LONG_LONG,
                       NVML_ERROR_NOT_SUPPORTED if refused else 0, 0 if refused else int(text))


def main():
    out = sys.stdout.buffer
    out.write(struct.pack("<4sHHi", b"NVF1", 1, 40, 8))
    rows = [line.split() for line in sys.stdin if not line.startswith("#")]
    for number, row in enumerate(rows):
        for counter, text in zip(COUNTERS, row, strict=True):
            out.write(record(BEGIN_US + number * ROUND_US, counter, text))


main()
