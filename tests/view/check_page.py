#!/usr/bin/env python3
"""Runs the tests of the page of `orrery view` by node's own runner.

    check_page.py --web web [--program build/orrery] bundle|types|unit|mock|program

bundle: makes web/dist, which unit and mock need. types: what the compiler of TypeScript says, since bundling does not look at types. unit: parts of the page. mock: the page in Chromium, beside a server that makes up a run. program: the page in Chromium, served by the
program. Exits with 77 where node, its packages or Chromium are missing.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
TESTS = {"mock": ["page.test.mjs", "timeline.test.mjs"], "program": ["program.test.mjs"]}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--web", required=True, type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("what", choices=["bundle", "types", "unit", *TESTS])
    options = parser.parse_args()
    if not shutil.which("node"):
        skip("there is no node")
    if not (options.web / "node_modules/playwright-core").is_dir():
        skip("npm could not be reached when the page was built")
    if options.what in TESTS and not shutil.which("chromium"):
        skip("there is no chromium (make test installs it)")
    web = options.web.resolve()
    if options.what == "bundle":
        sys.exit(subprocess.run(["node", web / "build.mjs", "--tests", web / "dist"], check=False).returncode)
    if options.what == "types":
        sys.exit(subprocess.run([web / "node_modules/.bin/tsc", "--noEmit"], cwd=web, check=False).returncode)
    environment = {**os.environ, "ORRERY_SOURCE": str(web.parent)}
    if options.program:
        environment["ORRERY_PROGRAM"] = str(options.program.resolve())
    if options.what == "unit":
        files = sorted((web / "test").glob("*.test.mjs"))
    else:
        files = [web / "test/browser" / name for name in TESTS[options.what]]
    sys.exit(subprocess.run(["node", "--test", *files], env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
