#!/usr/bin/env python3
"""Makes the tables of a page of docs/validation.

    tools/validate.py PAGE [--program build/orrery] [--write docs/validation/PAGE.md] [--only TABLE...]

Prints them unless a document is given, in which they are written between `<!-- TABLE, made by tools/validate.py PAGE -->` and
`<!-- end -->`. tools/pages has a module for each page:

    TABLES     {name: function of the program that yields the lines of the table}
    NEEDS      files that the repository does not have; where one is not there, the page is skipped (optional)
    problems   function of the program that yields a sentence for each thing that must hold and does not (optional)

Exit status: 1 where something does not hold, 77 where the page is skipped.
"""

import importlib
import pathlib
import sys

import validation

PAGES = sorted(path.stem.replace("_", "-") for path in (pathlib.Path(__file__).parent / "pages").glob("*.py"))
SKIPPED = 77


def tables_of(page, program, wanted):
    """{name: lines}; progress is printed, since some tables take minutes."""
    tables = {}
    for name, make in page.TABLES.items():
        if not wanted or name in wanted:
            tables[name] = list(make(program))
            print(f"validate: {name} is made", file=sys.stderr, flush=True)
    return tables


def main():
    parser = validation.parser(__doc__.splitlines()[0])
    parser.add_argument("page", choices=PAGES, metavar="PAGE", help=", ".join(PAGES))
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="these tables (all)")
    options = parser.parse_args()
    page = importlib.import_module("pages." + options.page.replace("-", "_"))
    unknown = [name for name in options.only if name not in page.TABLES]
    if unknown:
        parser.error(f"{options.page} has no table '{unknown[0]}'; it has {', '.join(page.TABLES)}")
    missing = [path for path in getattr(page, "NEEDS", ()) if not path.exists()]
    if missing:
        print(f"skipped: {missing[0]} is not there")
        return SKIPPED
    validation.fill(options.write, tables_of(page, options.program, options.only), f"validate.py {options.page}")
    problems = list(page.problems(options.program)) if hasattr(page, "problems") else []
    for problem in problems:
        print(f"validate: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
