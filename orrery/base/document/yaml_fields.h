#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"

namespace orrery {

/// A word and its value.
template <typename Value>
using Spelling = std::pair<std::string_view, Value>;

/// Reads the fields of one YAML mapping. The first error is kept instead of returned, so that a
/// reader is a plain list of fields and checks once at the end. A field is required unless a
/// fallback is given.
class YamlFields {
 public:
  /// Errors begin with `place`; the first is stored in `first_error`.
  YamlFields(YAML::Node node, std::string place, std::optional<Error>& first_error);

  [[nodiscard]] std::string Text(std::string_view key, std::optional<std::string> fallback = {});

  /// A list of texts.
  [[nodiscard]] std::vector<std::string> Texts(
      std::string_view key, std::optional<std::vector<std::string>> fallback = {});

  /// A list of lists of words, none empty.
  [[nodiscard]] std::vector<std::vector<std::string>> WordLists(std::string_view key);

  /// A whole number that is at least `least`.
  [[nodiscard]] int Count(std::string_view key, int least, std::optional<int> fallback = {});

  /// As Count, for what may not fit 32 bits.
  [[nodiscard]] std::int64_t Size(std::string_view key, std::int64_t least,
                                  std::optional<std::int64_t> fallback = {});

  /// A list of whole numbers that are at least `least`.
  [[nodiscard]] std::vector<std::int64_t> Sizes(
      std::string_view key, std::int64_t least,
      std::optional<std::vector<std::int64_t>> fallback = {});

  /// A finite number that is at least `least`.
  [[nodiscard]] double Number(std::string_view key, double least, double fallback);

  /// A list of finite numbers that are at least `least`.
  [[nodiscard]] std::vector<double> Numbers(std::string_view key, double least);

  /// A finite number above 0.
  [[nodiscard]] double Positive(std::string_view key, std::optional<double> fallback = {});

  [[nodiscard]] bool Flag(std::string_view key, bool fallback);

  /// One of the spelled words.
  template <typename Value>
  [[nodiscard]] Value Choice(std::string_view key, std::span<const Spelling<Value>> spellings,
                             std::optional<Value> fallback = {}) {
    if (fallback && IsAbsent(key)) {
      return *fallback;
    }
    const std::string word = Text(key);
    std::string known;
    for (const auto& [spelling, value] : spellings) {
      if (word == spelling) {
        return value;
      }
      known += (known.empty() ? "" : ", ") + std::string(spelling);
    }
    Wrong(key, "must be one of " + known, word);
    return spellings.front().second;
  }

  /// The mapping below `key`.
  [[nodiscard]] YamlFields Map(std::string_view key);

  /// The mappings of the list below `key`.
  [[nodiscard]] std::vector<YamlFields> Maps(std::string_view key);

  /// Marks fields as known though they are not read this time.
  void Expect(std::initializer_list<std::string_view> keys);

  [[nodiscard]] bool Has(std::string_view key) const;

  /// Any value, for types that the functions above do not read.
  [[nodiscard]] YAML::Node Node(std::string_view key);

  /// Reports that a field does not have the expected value.
  void Wrong(std::string_view key, std::string_view expectation, std::string_view found);

  /// Reports the first field that was not read, which would be ignored silently, and the known
  /// field with the most similar name.
  void RefuseOthers();

 private:
  // Marks a field as known and returns whether the mapping lacks it.
  [[nodiscard]] bool IsAbsent(std::string_view key);
  void Note(std::string_view key, std::string_view problem);

  YAML::Node node_;
  std::string place_;
  std::optional<Error>& first_error_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace orrery
