#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

constexpr const char* kProgram = "orrery-capture";

// Its place relative to the folder of this program: the same, the source tree seen from build/, and
// where `make install` puts it.
constexpr std::array<std::string_view, 3> kPlaces = {".", "../capture", "../share/orrery/capture"};

// The program; its bare name when it is in no known place, for the search in $PATH.
std::string CaptureProgram() {
  const std::filesystem::path folder = ProgramFolder();
  for (const std::string_view place : kPlaces) {
    const std::filesystem::path candidate = folder / place / kProgram;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) {
      return candidate.string();
    }
  }
  return kProgram;
}

// Becomes the program; returns only when there is none.
int Become(std::string_view name, const std::vector<std::string>& words) {
  std::string program = CaptureProgram();
  std::vector<std::string> line = {program, std::string(name)};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  arguments.reserve(line.size() + 1);
  for (std::string& word : line) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  execvp(program.c_str(), arguments.data());
  return PrintError(Error(Error::Kind::kInvalidInput,
                          fmt::format("{} cannot be started; put the folder capture/ of the source "
                                      "tree on this machine and into $PATH, with python3",
                                      kProgram)));
}

/// A verb that hands all its words over to orrery-capture, the program that runs on GPU machines.
struct CaptureVerb {
  const char* name;
  const char* description;
  const char* footer;
  const char* positional = nullptr;  // the words behind --
  const char* about_positional = nullptr;
};

constexpr CaptureVerb kVerbs[] = {
    {"trace", "Run single ranks of a large job on one GPU, without the others",
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
     "GPU; `orrery-capture trace --help` lists the options.",
     "MODEL", "What to trace, see below"},
    {"capture", "Record what a program does on this machine's GPU",
     "  orrery capture [--out run.orrs] [--operators] [--layers] -- python3 train.py [WORD]...\n  "
     "orrery capture --accesses [--kernel-name S] [--launch-count N] -- PROGRAM [WORD]...\n\nRuns "
     "the program unchanged and records kernels, memcpys, memory of the driver and of\nPyTorch's "
     "allocator, operators and regions into an event stream that `orrery info`,\n`analyze` and "
     "`memory` read. By default times are recorded, by CUPTI; with --accesses what\nkernels do to "
     "memory, by the Compute Sanitizer, and no trustworthy times. Ends as the\nprogram does; "
     "where that is 0, with 3 when something was lost and 2 when nothing was\nrecorded. The work "
     "is done by orrery-capture, which needs python3, g++ and the CUDA\ntoolkit; `orrery-capture "
     "capture --help` lists the options.",
     "PROGRAM", "What to record, behind --"},
    {"measure", "Measure this machine's GPU",
     "WHAT:\n"
     "  kernels      single operators by the thousand, into a CSV that models are fitted to\n"
     "  collectives  NCCL's collectives by size, into a log as nccl-tests writes it\n"
     "  overlap      kernels concurrent with communication: the slowdown of both, into a folder;\n"
     "               with --pipeline also fitted, evaluated and installed\n"
     "  power        bursts against sustained work, with watts and clocks, into a CSV\n"
     "  ceilings     bandwidths, launch times and matrix rates, into a CSV\n"
     "  host         the CPU's time for Python, dispatcher, allocator and launches, into a YAML\n\n"
     "The work is done by orrery-capture, which needs python3 with PyTorch and a GPU, and for\n"
     "overlap and ceilings nvcc; collectives are measured by nccl-tests where it is installed,\n"
     "counters by ncu. `orrery doctor` says what of it is here, `orrery measure WHAT --help`\n"
     "lists the options."},
    {"doctor", "What this machine has for measuring, and what to fix",
     "Looks for python3 with PyTorch, GPU and driver, nvcc, ncu and the right to read counters,\n"
     "CUPTI, NCCL, nsys and compute-sanitizer, and says which measurements work and how to fix\n"
     "what is missing. Ends with 0 when all that is needed is there, 3 when some measurements\n"
     "work, 2 when none does. `--json` prints the same as one document. The work is done by\n"
     "orrery-capture, which needs python3."}};

}  // namespace

void AddCaptureCommands(Verb& app) {
  for (const CaptureVerb& about : kVerbs) {
    Verb verb = app.AddVerb(about.name, about.description);
    verb.Footer(about.footer);
    if (about.positional != nullptr) {
      verb.KeepWordsBehindDashes(about.positional, about.about_positional);
    }
    verb.OnRunWithWords(
        [&about](const std::vector<std::string>& words) { return Become(about.name, words); });
  }
}

}  // namespace orrery::cli
