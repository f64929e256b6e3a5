#!/usr/bin/env python3
"""Asks a server of `orrery view` much, and looks whether its memory levels off.

    tests/view/check_load.py --program build/orrery

Twelve clients ask for tiles, tabs and what-ifs, some hang up before the answer. What is kept belongs to the runs that are open, not
to how often somebody asked: after three times as many requests the server may have no more than a little more.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request

JOB = pathlib.Path(__file__).resolve().parents[1] / "golden" / "simulate" / "answer.files" / "job.yaml"
PAGES = ["api/session", "api/tracks?run=0&rank=0", "api/tab?run=0&name=overview", "api/tab?run=0&name=kernels", "api/tab?run=1&name=metrics",
         "api/critical?run=0", "api/find?run=0&text=gemm", "api/activity?run=1&level=3&tile=0", "api/differences?a=0&b=1"]
CHANGES = [{"subject": "network", "name": "", "speedup": 2}, {"subject": "class", "name": "gemm", "speedup": 1.5},
           {"subject": "plan.tp", "name": "1", "speedup": 1}, {"subject": "gpus", "name": "", "speedup": 2}]
CLIENTS = 12
FIRST = 60  # requests
MOST_GROWTH = 1.15


def ask(address, number):
    """Does not matter what the answer is: some are refusals."""
    rng = random.Random(number)
    host, port, token = re.fullmatch(r"http://([\d.]+):(\d+)/(\w+)/", address).groups()
    if rng.random() < 0.1:
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(f"GET /{token}/{rng.choice(PAGES)} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends with a reset
        return
    body = None
    page = rng.choice(PAGES)
    if rng.random() < 0.3:
        page = "api/what-if"
        body = json.dumps({"run": 0, "keep": rng.random() < 0.5, "changes": [rng.choice(CHANGES)]}).encode()
    request = urllib.request.Request(address + page, data=body, headers={"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=60).read()
    except urllib.error.HTTPError as refusal:
        refusal.close()
        if body and refusal.code not in (400, 404):
            raise


def resident_mb(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    program = parser.parse_args().program.resolve()
    process = subprocess.Popen([program, "view", JOB, "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        address = process.stdout.readline().decode().strip()
        if not address:
            print("the page is not part of this program")
            return 77
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda number: ask(address, number), range(FIRST)))
            first = resident_mb(process)
            list(clients.map(lambda number: ask(address, number), range(FIRST, 3 * FIRST)))
            last = resident_mb(process)
    finally:
        process.terminate()
        status = process.wait(60)
    print(f"{first:.0f} MB after {FIRST} requests, {last:.0f} MB after {3 * FIRST}")
    if status != 0:
        print(f"the server ended with status {status}")
    return 0 if status == 0 and last <= MOST_GROWTH * first else 1


if __name__ == "__main__":
    sys.exit(main())
