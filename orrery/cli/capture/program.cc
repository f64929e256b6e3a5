#include "orrery/cli/capture/program.h"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/cli/program_folder.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

constexpr const char* kProgram = "orrery-capture";

// Where it lies seen from the folder of this program: beside it, in the source tree seen from
// build/, and where `make install` puts it.
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

}  // namespace

void HandOverToCapture(Verb& verb, std::string_view name) {
  verb.OnRunWithWords(
      [name](const std::vector<std::string>& words) { return Become(name, words); });
}

}  // namespace orrery::cli
