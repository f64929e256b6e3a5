"""Says what a machine has for measuring and what to fix: orrery-capture doctor."""
