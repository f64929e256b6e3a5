#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/metrics.h"

namespace orrery::learn {

/// The provenance and accuracy of a model, readable by people and programs.
struct DataCard {
  struct Source {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0;  // XXH64 of the file

    bool operator==(const Source&) const = default;
  };

  struct Figures {
    std::string name;  // which rows were evaluated, by what split
    Evaluation evaluation;

    bool operator==(const Figures&) const = default;
  };

  std::string title = {};
  std::uint64_t rows = 0;  // used for training
  std::vector<Source> sources = {};
  std::string split = {};
  std::uint64_t seed = 0;
  std::string made_by = {};  // program and version
  std::vector<Figures> figures = {};
  std::vector<std::string> notes = {};

  bool operator==(const DataCard&) const = default;
};

/// Writes a card as lines of "key: value". A line break within a value becomes a space.
[[nodiscard]] std::string FormatDataCard(const DataCard& card);

/// Reads what FormatDataCard wrote; an error names the line.
[[nodiscard]] Result<DataCard> ParseDataCard(std::string_view text);

}  // namespace orrery::learn
