#include "orrery/cli/capture/program.h"
#include "orrery/cli/command.h"

namespace orrery::cli {

void AddCaptureCommand(Verb& app) {
  Verb verb = app.AddVerb("capture", "Record what a program does on this machine's GPU");
  verb.Footer(
      "  orrery capture [--out run.orrs] [--operators] [--layers] -- python3 train.py [WORD]...\n"
      "  orrery capture --accesses [--kernel-name S] [--launch-count N] -- PROGRAM [WORD]...\n\n"
      "Runs the program unchanged and records kernels, copies, memory of the driver and of\n"
      "PyTorch's allocator, operators and regions into an event stream that `orrery info`,\n"
      "`analyze` and `memory` read. By default times are recorded, by CUPTI; with --accesses what\n"
      "kernels do to memory, by the Compute Sanitizer, and no trustworthy times. Ends as the\n"
      "program does; where that is 0, with 3 when something was lost and 2 when nothing was\n"
      "recorded. The work is done by orrery-capture, which needs python3, g++ and the CUDA\n"
      "toolkit; `orrery-capture capture --help` lists the options.");
  verb.KeepWordsBehindDashes("PROGRAM", "What to record, behind --");
  HandOverToCapture(verb, "capture");
}

}  // namespace orrery::cli
