"""Rounds the second column to four digits: the last ones differ between machines' libraries of mathematics."""

import sys

for line in sys.stdin:
    name, value = line.rstrip("\n").split(",")
    print(name, f"{float(value):.4g}" if value[:1].isdigit() else value)
