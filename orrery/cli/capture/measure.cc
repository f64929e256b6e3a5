#include "orrery/cli/capture/program.h"
#include "orrery/cli/command.h"

namespace orrery::cli {

void AddMeasureCommand(Verb& app) {
  Verb verb = app.AddVerb("measure", "Measure this machine's GPU");
  verb.Footer(
      "WHAT:\n"
      "  kernels      single operators by the thousand, into a CSV that models are fitted to\n"
      "  collectives  NCCL's collectives by size, into a log as nccl-tests writes it\n"
      "  overlap      kernels beside communication: how much both slow down, into a folder;\n"
      "               with --pipeline also fitted, evaluated and installed\n"
      "  ceilings     bandwidths, launch times and matrix rates, into a CSV\n\n"
      "The work is done by orrery-capture, which needs python3 with PyTorch and a GPU, and for\n"
      "overlap and ceilings nvcc; collectives are measured by nccl-tests where it is installed,\n"
      "counters by ncu. `orrery doctor` says what of it is here, `orrery measure WHAT --help`\n"
      "lists the options.");
  HandOverToCapture(verb, "measure");
}

}  // namespace orrery::cli
