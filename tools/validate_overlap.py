#!/usr/bin/env python3
"""Steps of DDP on eight A100s with and without kernels that hold each other up, beside what Echo published.

tools/validate_overlap.py --program build/orrery [--write FILE]: the tables of docs/validation/overlap.md between its
marks "made by tools/validate_overlap.py".
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOBS = ROOT / "examples" / "ddp-8xa100"
BEGIN = "<!-- made by tools/validate_overlap.py -->"
END = "<!-- end -->"

GPUS = 8
DIVISORS = (1, 8)  # of the samples a GPU: as in the example, and an eighth

# arXiv 2412.12487: step with overlap over step without.
PUBLISHED = {"bert-large": 1.391, "gpt2": 1.481, "vgg19": 1.377, "resnet152": 1.435}


def simulate(program, job, *options):
    command = [program, "simulate", str(job), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"validate_overlap: {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def compute_seconds(answer):
    return sum(seconds for key, seconds in answer["breakdown_s"].items() if key.startswith("compute."))


def ratio(over, under):
    return f"{over / under:.3f}" if under > 0 else "–"


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def batch_of(job):
    text = job.read_text(encoding="utf-8")
    return int(text.split("micro_batch:")[1].split(",")[0])


class Steps:
    """One job with `batch` samples on each of its GPUs, played without communication and in three ways with it."""

    def __init__(self, program, name, divisor):
        job = JOBS / f"{name}.yaml"
        self.batch = max(1, batch_of(job) // divisor)
        settings = ["--set", f"training.micro_batch={self.batch}", "--set"]
        self.alone = simulate(program, job, *settings, f"training.global_batch={self.batch}", "--set", "gpus=1")
        settings += [f"training.global_batch={GPUS * self.batch}"]
        self.none, self.analytic, self.model = (
            simulate(program, job, *settings, "--overlap", kind) for kind in ("none", "analytic", "model"))

    def moving_s(self):
        return sum(total["transfer_s"] for total in self.none["communication"])

    def cells(self):
        held_up = self.model["held_up"]
        none = self.none["step_time_s"]
        model = self.model["step_time_s"]
        return (
            self.batch,
            f"{1e3 * self.alone['step_time_s']:.1f}",
            f"{1e3 * none:.1f}",
            f"{1e3 * self.moving_s():.1f}",
            ratio(self.analytic["step_time_s"], none),
            ratio(model, none),
            ratio(model, self.alone["step_time_s"]),
            ratio(held_up["kernels_s"], held_up["kernels_alone_s"]),
            f"{100 * held_up['kernels_alone_s'] / compute_seconds(self.none):.0f} %")


def table(program):
    header = ("job", "samples a GPU", "one GPU, ms", "step without, ms", "sums move, ms", "analytic / without",
              "model / without", "model / one GPU", "kernels held up / alone", "of computing time", "Echo")
    lines = [line(*header), "|---|" + "---:|" * (len(header) - 1)]
    for divisor in DIVISORS:
        for name, published in PUBLISHED.items():
            lines.append(line(name, *Steps(program, name, divisor).cells(), published))
    return "\n".join(lines) + "\n"


def replaced(text, made):
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + made + END + rest.split(END, 1)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=ROOT / "build" / "orrery")
    parser.add_argument("--write", type=pathlib.Path, help="put the table into this document")
    arguments = parser.parse_args()
    made = table(arguments.program)
    if arguments.write:
        text = arguments.write.read_text(encoding="utf-8")
        arguments.write.write_text(replaced(text, made), encoding="utf-8")
    print(made, end="")


if __name__ == "__main__":
    main()
