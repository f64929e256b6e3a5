"""Measures single GPU operators: `orrery-capture measure kernels`."""
