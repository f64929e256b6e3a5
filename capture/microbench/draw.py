"""Draws sizes at random: log-uniform, and the structured points that kernels are sensitive to."""

import math


def log_uniform(rng, low, high):
    """Draws an integer in [low, high], each octave equally likely."""
    value = math.exp(rng.uniform(math.log(low), math.log(high + 1)))
    return max(low, min(high, int(value)))


def weighted(rng, weight_of):
    """Draws a key of a dictionary from key to weight."""
    point = rng.random() * sum(weight_of.values())
    for key, weight in weight_of.items():
        point -= weight
        if point < 0:
            return key
    return key


def size(rng, low, high):
    """Draws a size: as it comes, a power of two, one or eight beside it, or a multiple of 64."""
    value = log_uniform(rng, low, high)
    style = rng.random()
    if style < 0.30:
        return value
    power = 1 << round(math.log2(value))
    if style < 0.45:
        drawn = power
    elif style < 0.53:
        drawn = power + rng.choice((-1, 1))
    elif style < 0.61:
        drawn = power + rng.choice((-8, 8))
    elif style < 0.90:
        drawn = (value + 63) // 64 * 64
    else:
        drawn = (value + 7) // 8 * 8
    return max(low, min(high, drawn))


def chance(rng, probability):
    return rng.random() < probability
