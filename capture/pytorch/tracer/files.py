"""Files that are whole or not there."""

import gzip
import json
import os
import shutil


def write_text(path, text):
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)


def write_json(path, document):
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def write_gzip(path, chunks):
    """Text, packed; the same bytes for the same text."""
    part = f"{path}.part"
    with open(part, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        for chunk in chunks:
            packed.write(chunk.encode())
    os.replace(part, path)


def pack(source, path):
    """Moves a file into a gzip archive."""
    part = f"{path}.part"
    with open(source, "rb") as plain, open(part, "wb") as raw, \
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        shutil.copyfileobj(plain, packed)
    os.replace(part, path)
    os.remove(source)


def read_json(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return json.load(file)
