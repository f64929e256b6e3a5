"""Prints the headings of a page, and how many pictures follow each: page.py PAGE"""
import re
import sys

pictures = {}
with open(sys.argv[1], encoding="utf-8") as page:
    for heading, picture in re.findall(r'<h[23][^>]*>([^<]*)<|(viewBox="0 0 1080 )', page.read()):
        if picture:
            pictures[list(pictures)[-1]] += 1
        else:
            pictures[heading] = 0
for heading, count in pictures.items():
    print(f"{heading} ({count})" if count else heading)
