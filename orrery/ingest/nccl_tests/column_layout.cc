#include "orrery/ingest/nccl_tests/column_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/lookup.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/nccl_tests/run.h"

namespace orrery::ingest::nccl_tests {
namespace {

constexpr auto kFields = std::to_array<std::pair<std::string_view, TimingField>>({
    {"time", &Timing::time_us},
    {"cputime", &Timing::cpu_time_us},
    {"algbw", &Timing::algbw},
    {"busbw", &Timing::busbw},
    {"error", &Timing::wrong},
    {"#wrong", &Timing::wrong},
    {"#bitdiff", &Timing::bit_differences},
    {"i_min", &Timing::iteration_min_us},
    {"i_max", &Timing::iteration_max_us},
    {"i_p99", &Timing::iteration_p99_us},
    {"i_cv%", &Timing::iteration_cv_percent},
});

// "N/A" and NaN are complete and say nothing.
bool ParseTiming(std::string_view word, std::optional<double>& value) {
  const auto number = ParseWhole<double>(word);
  if (number && std::isfinite(*number)) {
    value = number;
  }
  return number || word == "N/A";
}

bool ParseRoot(std::string_view word, std::optional<std::int64_t>& root) {
  const auto number = ParseWhole<std::int64_t>(word);
  root = number ? number : root;
  return number || word == "N/A";
}

bool IsName(std::string_view word) {
  return !ParseWhole<double>(word);
}

}  // namespace

std::vector<Word> SplitWords(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<Word> words;
  std::size_t begin = line.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back({.text = line.substr(begin, end - begin), .begin = begin});
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool ParseCount(std::string_view word, std::int64_t& value) {
  const auto number = ParseWhole<std::int64_t>(word);
  value = number.value_or(0);
  return number && *number >= 0;
}

bool BeginsRow(std::span<const Word> words) {
  std::int64_t ignored = 0;
  return words.size() >= 3 && ParseCount(words[0].text, ignored) &&
         ParseCount(words[1].text, ignored) && ElementBytes(words[2].text).has_value();
}

bool IsColumnHeader(std::span<const Word> words) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(words, name, &Word::text) != words.end();
  };
  return has("size") && has("count") && has("type") && has("algbw") && has("busbw");
}

std::optional<ColumnLayout> ColumnLayout::FromHeader(std::string_view line) {
  const std::vector<Word> words = SplitWords(line);
  if (!IsColumnHeader(words)) {
    return std::nullopt;
  }
  ColumnLayout layout;
  for (const Word& word : words) {
    if (word.text != "#") {
      layout.AddColumn(word);
    }
  }
  return layout;
}

std::optional<ColumnLayout> ColumnLayout::Assumed(std::size_t num_words) {
  return FromHeader(
      num_words == 12 ? "size count type redop time algbw busbw error time algbw busbw error"
      : num_words == 13
          ? "size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
          : "");
}

void ColumnLayout::AddColumn(const Word& name) {
  if (const auto field = LookUp(kFields, name.text)) {
    const bool is_second = std::ranges::find(columns_, *field, &Column::field) != columns_.end();
    out_of_place_end_ = is_second ? out_of_place_end_ : name.end();
    columns_.push_back(
        {.kind = Kind::kTiming, .placement = is_second ? kInPlace : kOutOfPlace, .field = *field});
    return;
  }
  constexpr auto kKinds =
      std::to_array<std::pair<std::string_view, Kind>>({{"size", Kind::kSize},
                                                        {"count", Kind::kCount},
                                                        {"type", Kind::kType},
                                                        {"redop", Kind::kRedop},
                                                        {"root", Kind::kRoot},
                                                        {"timestamp", Kind::kTimestamp}});
  const auto kind = LookUp(kKinds, name.text);
  columns_.push_back({.kind = kind.value_or(Kind::kUnknown)});
  if (!kind) {
    unknown_.push_back(name.text);
  }
}

bool ColumnLayout::Store(const Column& column, std::string_view word, Row& row) {
  switch (column.kind) {
    case Kind::kSize:
      return ParseCount(word, row.size_bytes);
    case Kind::kCount:
      return ParseCount(word, row.count);
    case Kind::kType:
      row.data_type = word;
      return IsName(word);
    case Kind::kRedop:
      row.redop = word;
      return IsName(word);
    case Kind::kRoot:
      return ParseRoot(word, row.root);
    case Kind::kTiming:
      return ParseTiming(word, row.timing[column.placement].*column.field);
    case Kind::kTimestamp:
      row.timestamp += (row.timestamp.empty() ? "" : " ") + std::string(word);
      return true;
    case Kind::kUnknown:
      return true;
  }
  return false;
}

std::optional<ColumnLayout::ParsedRow> ColumnLayout::ParseRow(std::span<const Word> words) const {
  const auto row = ParseColumns(words, /*has_out_of_place=*/true);
  return row ? row : ParseColumns(words, /*has_out_of_place=*/false);
}

std::optional<ColumnLayout::ParsedRow> ColumnLayout::ParseColumns(std::span<const Word> words,
                                                                  bool has_out_of_place) const {
  ParsedRow parsed;
  for (const Column& column : columns_) {
    const bool is_timing = column.kind == Kind::kTiming;
    if (is_timing && column.placement == kOutOfPlace && !has_out_of_place) {
      continue;
    }
    // A time stamp is a date and a time of day.
    for (int part = column.kind == Kind::kTimestamp ? 0 : 1; part < 2; ++part) {
      if (parsed.num_words == words.size()) {
        return std::nullopt;
      }
      const Word& word = words[parsed.num_words++];
      const bool stands_too_far_left =
          is_timing && !has_out_of_place && word.begin <= out_of_place_end_;
      if (stands_too_far_left || !Store(column, word.text, parsed.row)) {
        return std::nullopt;
      }
    }
  }
  return parsed;
}

}  // namespace orrery::ingest::nccl_tests
