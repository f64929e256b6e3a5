#!/usr/bin/env python3
"""Predicts a step from its execution trace, and compares it with a profile of the same step on one GPU.

    examples/python/compare_prediction.py EXECUTION_TRACE PROFILE --gpu H200 [--operators 5]

Both files are what `orrery.torch.trace(folder)` records inside a training script:

    with orrery.torch.trace("trace") as recording:
        while not recording.is_done:
            train_step(next(batches))
            recording.step()

or `orrery trace`; a small pair is tests/data/h200/fake-tp8.et.json.gz and .kineto.json.gz.
"""
import argparse

import orrery


def compared(what, predicted_s, measured_s):
    print(f"{what:24} {predicted_s * 1e3:9.2f} ms {measured_s * 1e3:9.2f} ms  {predicted_s / measured_s - 1:+7.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("execution_trace")
    parser.add_argument("profile")
    parser.add_argument("--gpu", required=True, help="the GPU of the profile")
    parser.add_argument("--operators", type=int, default=5, help="how many operators are listed")
    options = parser.parse_args()
    # From models alone: operators and their tensors, no time of the profile.
    predicted = orrery.predict.trace(options.execution_trace, gpu=options.gpu, measured=options.profile)
    # The profile as it is, with the host's time without the profiler.
    recorded = orrery.predict.trace(options.profile)
    print(f"{'':24} {'predicted':>12} {'profile':>12}")
    compared("GPU active", predicted["active_time_s"], recorded["active_time_s"])
    compared("step", predicted["step_time_s"], recorded["step_time_s"])
    compared("step under the profiler", predicted["step_time_s"], predicted["measured_step_s"])
    print(f"80 % interval of the predicted step: {predicted['low_s'] * 1e3:.2f} to {predicted['high_s'] * 1e3:.2f} ms")
    print("\noperators predicted worst")
    for operator in predicted["worst_operators"][:options.operators]:
        compared(f"{operator['name']} ({operator['calls']} calls)"[:24], operator["predicted_s"], operator["measured_s"])
    for sentence in predicted.problems:
        print(f"- {sentence}")


if __name__ == "__main__":
    try:
        main()
    except orrery.Error as error:
        raise SystemExit(f"compare_prediction: {error}") from None
