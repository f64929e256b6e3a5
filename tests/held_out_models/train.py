#!/usr/bin/env python3
"""Trains one held-out model for some steps, as a script that `orrery trace` and `orrery capture` are given: train.py MODEL
[STEPS]."""

import sys

from catalogue import MODELS

if __name__ == "__main__":
    step = MODELS[sys.argv[1]]()
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 200):
        step()
