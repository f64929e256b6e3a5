#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/program_folder.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

constexpr const char* kProgram = "orrery-capture";

// Where it lies seen from the folder of this program: beside it, in the source tree seen from
// build/, and where `make install` puts it.
constexpr std::array<std::string_view, 3> kPlaces = {".", "../capture", "../share/orrery/capture"};

// The program that measures; its bare name when it is in no known place, for the search in $PATH.
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

// Becomes the program that measures; returns only when there is none.
int RunMeasure(const std::vector<std::string>& words) {
  std::string program = CaptureProgram();
  std::vector<std::string> line = {program, "measure"};
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

}  // namespace

void AddMeasureCommand(CLI::App& app, int& status) {
  CLI::App* const verb = app.add_subcommand("measure", "Measure this machine's GPU");
  verb->footer(
      "WHAT:\n"
      "  kernels      single operators by the thousand, into a CSV that models are fitted to\n"
      "  collectives  NCCL's collectives by size, into a log as nccl-tests writes it\n"
      "  ceilings     bandwidths, launch times and matrix rates, into a CSV\n\n"
      "The work is done by orrery-capture, which needs python3 with PyTorch and a GPU, and for\n"
      "the ceilings nvcc; collectives are measured by nccl-tests where it is installed.\n"
      "`orrery measure WHAT --help` lists the options.");
  verb->prefix_command();
  verb->final_callback([verb, &status] { status = RunMeasure(verb->remaining()); });
}

}  // namespace orrery::cli
