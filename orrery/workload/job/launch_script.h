#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Values of shell variables: one element, or those of an array.
using ShellVariables = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The command by which a shell script starts a training.
struct LaunchCommand {
  std::vector<std::string> words;         // expanded; "$NAME" where no value is known
  std::vector<std::string> assumed = {};  // a sentence for each guess about the script
  ShellVariables variables = {};          // at the end of the script
};

/// Reads a script without running anything: assignments, arrays, `+=`, `export`,
/// `${NAME:-default}`, products `$((…))`, quotes, comments, line continuations; `#SBATCH --nodes`
/// and GPUs per node set SLURM's variables. Conditions such as `[ $TP -gt 1 ]` are evaluated; where
/// a value is not known, all branches count, in order, which `assumed` says. Of several commands
/// the one with most options is taken. `given` variables win over those of the script.
///
/// Fails with a sentence for a script that is no launch script but an attack on its reader: more
/// than a mebibyte, of text before or after expansions, or expansions inside each other without
/// end.
[[nodiscard]] Result<LaunchCommand> ReadLaunchScript(std::string_view script,
                                                     const ShellVariables& given);

}  // namespace orrery::workload
