"""XXH64, the checksum of Orrery's containers and models, in plain Python."""

import struct

_MASK = 2**64 - 1
_P1, _P2, _P3, _P4, _P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def _rotated(value, bits):
    return (value << bits | value >> 64 - bits) & _MASK


def _round(lane, value):
    return _rotated(lane + value * _P2 & _MASK, 31) * _P1 & _MASK


def _start(data, seed):
    """The state after all whole stripes of 32 bytes, and where they end."""
    if len(data) < 32:
        return seed + _P5 & _MASK, 0
    lanes = [seed + _P1 + _P2 & _MASK, seed + _P2 & _MASK, seed, seed - _P1 & _MASK]
    for stripe in struct.iter_unpack("<4Q", data[:len(data) // 32 * 32]):
        lanes = [_round(lane, value) for lane, value in zip(lanes, stripe)]
    state = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & _MASK
    for lane in lanes:
        state = ((state ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return state, len(data) // 32 * 32


def digest(data, seed=0):
    state, at = _start(data, seed)
    state = state + len(data) & _MASK
    while at + 8 <= len(data):
        state = (_rotated(state ^ _round(0, int.from_bytes(data[at:at + 8], "little")), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(data):
        state = (_rotated(state ^ int.from_bytes(data[at:at + 4], "little") * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        state = _rotated(state ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    for shift, factor in ((33, _P2), (29, _P3)):
        state = (state ^ state >> shift) * factor & _MASK
    return state ^ state >> 32
