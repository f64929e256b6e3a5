#include "orrery/cli/capture/program.h"
#include "orrery/cli/command.h"

namespace orrery::cli {
void AddTraceCommand(Verb& app) {
  Verb verb = app.AddVerb("trace", "Run single ranks of a large job on one GPU, without the others");
  verb.Footer(
      "  orrery trace MODEL [--world N] [--dp N --tp N --pp N] [--fsdp | --ddp]\n"
      "  orrery trace --world N [--rank R,R] -- SCRIPT.py [WORD]...\n\n"
      "Runs one rank of each kind with a process group that has no peers, and records its\n"
      "operators, kernels, collectives and memory into a folder, from which `orrery simulate\n"
      "--from FOLDER` makes the whole job. MODEL is a built-in one (`orrery trace --list`), a\n"
      "config.json of Transformers, or any model of torchvision; SCRIPT.py is a training script "
      "of\n"
      "your own. Ends with 0 when all ranks were recorded, 3 when something was, 2 when nothing\n"
      "was. The work is done by orrery-capture, which needs python3 with PyTorch 2.3 to 2.11 and "
      "a\n"
      "GPU; `orrery-capture trace --help` lists the options.");
  verb.KeepWordsBehindDashes("MODEL", "What to trace, see below");
  HandOverToCapture(verb, "trace");
}

}  // namespace orrery::cli
