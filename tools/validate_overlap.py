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


def row(program, name, published):
    job = JOBS / f"{name}.yaml"
    alone = simulate(program, job, "--set", "gpus=1", "--set", f"training.global_batch={batch_of(job)}")
    answers = {kind: simulate(program, job, "--overlap", kind) for kind in ("none", "analytic", "model")}
    none = answers["none"]["step_time_s"]
    held_up = answers["model"]["held_up"]
    busy = [total for total in answers["none"]["communication"] if total["dimension"] == "dp"]
    return line(
        name,
        f"{1e3 * alone['step_time_s']:.1f}",
        f"{1e3 * none:.1f}",
        f"{1e3 * sum(total['transfer_s'] for total in busy):.1f}",
        ratio(answers["analytic"]["step_time_s"], none),
        ratio(answers["model"]["step_time_s"], none),
        ratio(answers["model"]["step_time_s"], alone["step_time_s"]),
        ratio(held_up["kernels_s"], held_up["kernels_alone_s"]),
        f"{100 * held_up['kernels_alone_s'] / compute_seconds(answers['none']):.0f} %",
        published)


def batch_of(job):
    text = job.read_text(encoding="utf-8")
    return text.split("micro_batch:")[1].split(",")[0].strip()


def table(program):
    header = ("job", "one GPU, ms", "step without, ms", "sums move, ms", "analytic / without", "model / without",
              "model / one GPU", "kernels held up / alone", "of computing time", "Echo")
    lines = [line(*header), "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + [row(program, name, published) for name, published in PUBLISHED.items()]) + "\n"


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
