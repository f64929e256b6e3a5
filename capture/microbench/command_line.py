"""`orrery-capture measure kernels`: its options."""

import argparse
import itertools
import sys

from microbench import operator_text, sampling
from microbench.machine import why_no_gpu


def _words(known):
    def read(text):
        words = text.replace(",", " ").split()
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"no such word: {word}; there are "
                                                 + ", ".join(known))
        return frozenset(words)

    return read


def _shares(text):
    shares = {}
    for word in text.replace(",", " ").split():
        kind, _, share = word.partition("=")
        if kind not in sampling.SAMPLERS:
            raise argparse.ArgumentTypeError(f"no such kind: {kind}; there are "
                                             + ", ".join(sampling.SAMPLERS))
        try:
            shares[kind] = float(share)
        except ValueError:
            shares[kind] = 0.0
        if not 0 < shares[kind] < float("inf"):
            raise argparse.ArgumentTypeError(f"{word}: write KIND=SHARE, a share above 0")
    return shares


def add_options(parser):
    parser.add_argument("--minutes", type=float, default=10.0, help="time to run (10)")
    parser.add_argument("--only", type=_words(sampling.SAMPLERS), metavar="KINDS",
                        help="only these kinds of operators, separated by commas")
    parser.add_argument("--shares", type=_shares, metavar="KIND=SHARE,...",
                        help="draw these kinds alone, as often as their shares say")
    parser.add_argument("--dtypes", type=_words(operator_text.DTYPE_BYTES), metavar="TYPES",
                        help="only these types, separated by commas")
    parser.add_argument("--seed", type=int, default=1, help="which sequence of operators (1)")
    parser.add_argument("--out", metavar="FILE.csv",
                        help="the table, continued if it exists (kernels.csv)")
    parser.add_argument("--turn-file", metavar="FILE",
                        help="other processes measure with this file too: prepare beside them, "
                             "measure in turn")
    parser.add_argument("--buffer-share", type=float, default=1.0, metavar="SHARE",
                        help="of the usual buffers on the GPU, for several processes (1)")
    parser.add_argument("--list", type=int, nargs="?", const=100, metavar="N",
                        help="print the first N operators (100) and measure nothing")
    parser.add_argument("--smoke", action="store_true",
                        help="three small operators of each kind, and a table of what works")


def main(options):
    if options.list is not None:
        chosen = sampling.sequence(options.seed, options.only, options.dtypes, options.shares)
        for sample in itertools.islice(chosen, options.list):
            print(sample.text)
        return 0
    options.out_given = options.out is not None
    options.out = options.out or "kernels.csv"
    if reason := why_no_gpu():
        print(f"orrery-capture: {reason}", file=sys.stderr)
        return 2
    from microbench import rows, run
    try:
        return run.run_smoke(options) if options.smoke else run.run(options)
    except rows.NotOurTable as error:
        print(f"orrery-capture: {error}", file=sys.stderr)
        return 2
