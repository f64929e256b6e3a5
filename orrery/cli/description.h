#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

/// An option or a positional argument as --help shows it.
struct OptionDescription {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its one name
  std::string value;               // as --help shows it: "FILE REQUIRED"; empty for a flag
  std::string text;
  std::string group;                 // title that it is listed under
  std::vector<std::string> choices;  // the only words that it takes; empty: any

  [[nodiscard]] bool IsPositional() const { return !names.front().starts_with('-'); }
};

/// A verb as --help shows it. Manual pages and completions are made from it.
struct VerbDescription {
  std::string name;   // its own, "kernels"; of the program "orrery"
  std::string text;   // one line
  std::string usage;  // "orrery fit kernels [OPTIONS] DATA..."
  std::string footer;
  std::vector<OptionDescription> options = {};
  std::vector<VerbDescription> verbs = {};
};

}  // namespace orrery::cli
