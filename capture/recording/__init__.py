"""Records what a program does on the GPU into an event stream: orrery-capture capture."""
