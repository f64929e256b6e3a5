#!/usr/bin/env python3
"""Traces one rank in a process of its own, so that each begins with an empty GPU."""

import os
import pathlib
import sys

_FOLDER = str(pathlib.Path(__file__).resolve().parent.parent)
sys.path[0] = _FOLDER  # capture/pytorch; in the place of this file's folder

from tracer import facts, files  # noqa: E402
from tracer.rank_log import is_out_of_memory, reason  # noqa: E402


def _say(sentence):
    print(f"orrery-capture: {sentence}", file=sys.stderr)


def missing():
    """Returns why no rank can be traced here; empty if one can."""
    try:
        import torch
    except ImportError:
        return ("PyTorch is not installed for this python3; install it, or run with the python3 "
                "that has it (`orrery-capture doctor` says what else is missing)")
    if facts.version_refusal(torch.__version__):
        return facts.version_refusal(torch.__version__)
    if not torch.cuda.is_available():
        return "PyTorch sees no GPU on this machine (`orrery-capture doctor` says more)"
    return ""


def _save_facts(request, recording, parameters, remarks):
    import torch
    noted = [*remarks, *recording.remarks, facts.version_remark(torch.__version__)]
    files.write_json(os.path.join(request.folder, "facts.json"),
                     {**facts.of_this_process(), "rank": request.rank, "parameters": parameters,
                      "remarks": [one for one in noted if one]})


def play(request):
    """Records a built-in model; returns the exit status."""
    from parallel import build
    from parallel.plan import Refusal

    from tracer import exchanges, job, recorder, world
    wanted = job.of(request.options)
    log = exchanges.ExchangeLog()
    world.enter(request.rank, request.world, log)
    recording = recorder.Recording(request, log)
    try:
        workload = build.build(wanted.description, wanted.plan, wanted.settings, request.rank,
                               request.layers or wanted.description.layers)
    except Refusal as error:
        raise job.NotPossible(str(error)) from error
    remarks = list(getattr(workload, "remarks", []))
    _save_facts(request, recording, workload.parameters, remarks)
    try:
        recording.begin()
        while not recording.is_done:
            workload.step(recording.phase)
            recording.end_of_step()
    except Exception as error:
        if is_out_of_memory(error):
            raise
        import traceback
        traceback.print_exc()
        why = f"step {recording.steps_done + 1} ended with {reason(error)}"
        _say(f"{why}; what was recorded until then is kept")
        recording.finish(why)
        _save_facts(request, recording, workload.parameters, remarks)
        return files.INCOMPLETE
    recording.finish()
    _save_facts(request, recording, workload.parameters, remarks)
    return files.COMPLETE


def _run(request):
    from tracer.job import NotPossible
    try:
        if request.script:
            from tracer import script
            return script.play(request, _save_facts)
        return play(request)
    except NotPossible as error:
        _say(error)
        return files.REFUSED
    except Exception as error:
        if is_out_of_memory(error):
            return files.OUT_OF_MEMORY
        import traceback
        traceback.print_exc()
        _say(f"rank {request.rank} cannot be traced: {reason(error)}")
        return files.REFUSED


def main():
    why = missing()
    if why:
        _say(why)
        return files.REFUSED
    if sys.argv[1] == "--check":
        from tracer import check
        return check.run()
    return _run(files.Request.read(sys.argv[1]))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # nothing is left to do, and a context after an error would only complain
