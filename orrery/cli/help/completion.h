#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/cli/description.h"

namespace orrery::cli {

/// A word that may be typed next, and what it means; an empty meaning: nothing to say.
struct Candidate {
  std::string word;
  std::string meaning = {};

  bool operator==(const Candidate&) const = default;
};

/// The words that the last of `words`, those behind "orrery", can become: verbs, options, values of
/// options and files that no list has (none: the shell completes them). Bash hands "--gpu=H" over
/// as three words, and then wants what stands behind "=".
[[nodiscard]] std::vector<Candidate> CandidatesFor(const VerbDescription& program,
                                                   std::vector<std::string> words);

/// The script that makes a shell ask for them; empty for an unknown shell.
[[nodiscard]] std::string_view CompletionScript(std::string_view shell);

}  // namespace orrery::cli
