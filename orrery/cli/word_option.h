#pragma once

#include <map>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace orrery::cli {

/// Adds an option that takes one of a few words, each of which stands for a value. (CLI11's own
/// transformer shows enumerations as unprintable characters, in help and in errors.)
template <typename T>
void AddWordOption(CLI::App& verb, const std::string& name, T& target,
                   const std::map<std::string, T>& words, const std::string& description) {
  std::string choices;
  for (const auto& [word, value] : words) {
    choices += (choices.empty() ? "" : "|") + word;
  }
  verb.add_option_function<std::string>(
          name,
          [&target, words, name, choices](const std::string& word) {
            const auto found = words.find(word);
            if (found == words.end()) {
              throw CLI::ValidationError(name, word + " is none of " + choices);
            }
            target = found->second;
          },
          description)
      ->type_name(choices);
}

}  // namespace orrery::cli
