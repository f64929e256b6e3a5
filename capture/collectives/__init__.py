"""Measures collectives on the GPUs of a machine: `orrery-capture measure collectives`."""
