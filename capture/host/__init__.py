"""The speed of the host: `orrery-capture measure host`."""
