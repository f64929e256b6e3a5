#include "orrery/learn/data_card.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::learn {
namespace {

constexpr std::array<std::pair<std::string_view, double Evaluation::*>, 10> kFigureNames = {{
    {"mape", &Evaluation::mape},
    {"gmae", &Evaluation::gmae},
    {"median", &Evaluation::median},
    {"p95", &Evaluation::p95},
    {"bias", &Evaluation::bias},
    {"within 5", &Evaluation::within_5},
    {"within 10", &Evaluation::within_10},
    {"within 15", &Evaluation::within_15},
    {"r2 of logs", &Evaluation::r2_of_logs},
    {"error of sum", &Evaluation::error_of_sum},
}};

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string FormatFigures(const DataCard::Figures& figures) {
  const Evaluation& evaluation = figures.evaluation;
  std::string text =
      fmt::format("figures: {}\n  rows: {}\n", OneLine(figures.name), evaluation.rows);
  for (const auto& [name, member] : kFigureNames) {
    text += fmt::format("  {}: {}\n", name, evaluation.*member);
  }
  return text + fmt::format("  histogram: {}\n", fmt::join(evaluation.histogram, " "));
}

template <typename T>
std::optional<T> NumberIn(std::string_view text, [[maybe_unused]] int base = 10) {
  T number{};
  std::from_chars_result parsed{};
  if constexpr (std::is_integral_v<T>) {
    parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  } else {
    parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  }
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

// Cuts at the first separator and returns what was before it; without one, everything.
std::string_view TakeUntil(std::string_view& text, std::string_view separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + separator.size()));
  return taken;
}

template <typename T>
bool Store(std::string_view text, T& target) {
  const auto number = NumberIn<T>(text);
  target = number.value_or(T{});
  return number.has_value();
}

bool StoreSource(std::string_view text, DataCard& card) {
  const auto bytes = NumberIn<std::uint64_t>(TakeUntil(text, " "));
  const auto hash = NumberIn<std::uint64_t>(TakeUntil(text, " "), 16);
  card.sources.push_back(
      {.name = std::string(text), .bytes = bytes.value_or(0), .hash = hash.value_or(0)});
  return bytes && hash;
}

bool StoreHistogram(std::string_view text, Evaluation& evaluation) {
  return std::all_of(evaluation.histogram.begin(), evaluation.histogram.end(),
                     [&](std::size_t& count) { return Store(TakeUntil(text, " "), count); }) &&
         text.empty();
}

bool StoreFigure(std::string_view key, std::string_view value, DataCard& card) {
  if (card.figures.empty()) {
    return false;
  }
  Evaluation& evaluation = card.figures.back().evaluation;
  if (key == "rows") {
    return Store(value, evaluation.rows);
  }
  if (key == "histogram") {
    return StoreHistogram(value, evaluation);
  }
  const auto* const found = std::find_if(kFigureNames.begin(), kFigureNames.end(),
                                         [&](const auto& figure) { return figure.first == key; });
  return found != kFigureNames.end() && Store(value, evaluation.*(found->second));
}

bool StoreText(std::string_view key, std::string_view value, DataCard& card) {
  if (key == "title") {
    card.title = value;
  } else if (key == "split") {
    card.split = value;
  } else if (key == "made by") {
    card.made_by = value;
  } else if (key == "note") {
    card.notes.emplace_back(value);
  } else if (key == "figures") {
    card.figures.push_back({.name = std::string(value), .evaluation = {}});
  } else {
    return false;
  }
  return true;
}

bool StoreLine(std::string_view line, DataCard& card) {
  if (line.starts_with("  ")) {
    line.remove_prefix(2);
    const std::string_view figure = TakeUntil(line, ": ");
    return StoreFigure(figure, line, card);
  }
  const std::string_view key = TakeUntil(line, ": ");
  if (key == "rows") {
    return Store(line, card.rows);
  }
  if (key == "seed") {
    return Store(line, card.seed);
  }
  return key == "source" ? StoreSource(line, card) : StoreText(key, line, card);
}

}  // namespace

std::string FormatDataCard(const DataCard& card) {
  std::string text = fmt::format("title: {}\nrows: {}\n", OneLine(card.title), card.rows);
  for (const DataCard::Source& source : card.sources) {
    text += fmt::format("source: {} {:016x} {}\n", source.bytes, source.hash, OneLine(source.name));
  }
  text += fmt::format("split: {}\nseed: {}\nmade by: {}\n", OneLine(card.split), card.seed,
                      OneLine(card.made_by));
  for (const DataCard::Figures& figures : card.figures) {
    text += FormatFigures(figures);
  }
  for (const std::string& note : card.notes) {
    text += fmt::format("note: {}\n", OneLine(note));
  }
  return text;
}

Result<DataCard> ParseDataCard(std::string_view text) {
  DataCard card;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = TakeUntil(text, "\n");
    if (!StoreLine(line, card)) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("data card: line {} is not understood: {}", number, line));
    }
  }
  return card;
}

}  // namespace orrery::learn
