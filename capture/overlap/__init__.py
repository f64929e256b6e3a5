"""Measures how kernels slow each other down: orrery-capture measure overlap."""
