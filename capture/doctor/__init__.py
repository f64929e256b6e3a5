"""Says what a machine has for measuring and what to mend: orrery-capture doctor."""
