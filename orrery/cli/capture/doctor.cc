#include "orrery/cli/capture/program.h"
#include "orrery/cli/command.h"

namespace orrery::cli {

void AddDoctorCommand(Verb& app) {
  Verb verb = app.AddVerb("doctor", "What this machine has for measuring, and what to fix");
  verb.Footer(
      "Looks for python3 with PyTorch, GPU and driver, nvcc, ncu and the right to read counters,\n"
      "CUPTI, NCCL, nsys and compute-sanitizer, and says which measurements work and how to fix\n"
      "what is missing. Ends with 0 when all that is needed is there, 3 when some measurements\n"
      "work, 2 when none does. `--json` prints the same as one document. The work is done by\n"
      "orrery-capture, which needs python3.");
  HandOverToCapture(verb, "doctor");
}

}  // namespace orrery::cli
