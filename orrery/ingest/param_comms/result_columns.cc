#include "orrery/ingest/param_comms/result_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/lookup.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/nccl_tests/column_layout.h"

namespace orrery::ingest::param_comms {
namespace {

constexpr std::string_view kMark = "COMMS-RES";
constexpr std::string_view kBlanks = " \t\r";

constexpr std::string_view kPair = "row of two concurrent collectives; skipped";
constexpr std::string_view kCompute = "row measured concurrently with computation; skipped";
constexpr std::string_view kPointToPoint = "row of pt2pt, which times pings; skipped";
constexpr std::string_view kQuantised = "row of a quantised collective; skipped";

// The mode in which a run has columns of these names; its times are not those of a collective.
constexpr auto kUnsupportedColumns = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"total-size", kPair},
    {"total-pair-size", kPair},
    {"nelementspairperrank", kPair},
    {"num-elements-pair", kPair},
    {"totallatency(us):p50", kCompute},
    {"complatency(us):p50", kCompute},
    {"tflops", kCompute},
    {"pinglatency(us):p50", kPointToPoint},
    {"pingponglatency(us):p50", kPointToPoint},
});

bool ParseMeasured(std::string_view word, double& value) {
  const auto number = ParseWhole<double>(word);
  value = number.value_or(0);
  return number && std::isfinite(value) && value >= 0;
}

bool ParseMeasured(std::string_view word, std::optional<double>& value) {
  return ParseMeasured(word, value.emplace());
}

// Bandwidths have three decimals in every version, so that a cut one is seen.
bool ParseBandwidth(std::string_view word, double& value) {
  const std::size_t point = word.find('.');
  return point != std::string_view::npos && word.size() - point == 4 && ParseMeasured(word, value);
}

bool IsSizeName(std::string_view word) {
  return word == "size" || word == "total-size" || word == "total-pair-size";
}

}  // namespace

std::optional<ResultLine> SplitResultLine(std::string_view line) {
  const std::size_t at = line.find(kMark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  line.remove_prefix(at + kMark.size());
  const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
  return ResultLine{.tag = line.substr(0, end), .words = nccl_tests::SplitWords(line.substr(end))};
}

std::optional<ResultColumns> ResultColumns::FromHeader(const ResultLine& line) {
  const auto& words = line.words;
  if (words.size() < 3 || !IsSizeName(words[0].text) || words[1].text != "(B)") {
    return std::nullopt;
  }
  ResultColumns layout;
  if (line.tag == "-QUANT") {
    layout.skip_reason_ = kQuantised;
    return layout;
  }
  for (const nccl_tests::Word& word : words) {
    if (word.text != "(B)") {
      layout.AddColumn(word.text);
    }
  }
  return layout;
}

std::optional<ResultColumns> ResultColumns::Assumed(std::size_t num_words) {
  using enum Kind;
  ResultColumns layout;
  if (num_words == 9) {
    layout.columns_ = {kSize, kCount, kMedian, kP75, kP95, kMin, kMax, kAlgbw, kBusbw};
  } else if (num_words == 7) {
    layout.columns_ = {kSize, kCount, kMedian, kP75, kP95, kAlgbw, kBusbw};
  } else {
    return std::nullopt;
  }
  return layout;
}

void ResultColumns::AddColumn(std::string_view name) {
  using enum Kind;
  const std::string folded = LowerCase(name);
  const auto unsupported = LookUp(kUnsupportedColumns, folded);
  skip_reason_ = unsupported.value_or(skip_reason_);
  static constexpr auto kNames = std::to_array<std::pair<std::string_view, Kind>>({
      {"size", kSize},
      {"nelementsperrank", kCount},
      {"num-elements", kCount},
      {"num-elems/rank", kCount},
      {"latency(us):p50", kMedian},
      {"p75", kP75},
      {"p95", kP95},
      {"min", kMin},
      {"max", kMax},
      {"algbw(gb/s)", kAlgbw},
      {"busbw(gb/s)", kBusbw},
      {"op[0]", kOther},  // the first element of the result
  });
  const auto kind = LookUp(kNames, folded);
  columns_.push_back(kind.value_or(kOther));
  if (!kind && !unsupported) {
    unknown_.push_back(name);
  }
}

bool ResultColumns::Store(Kind kind, std::string_view word, ResultRow& row) {
  switch (kind) {
    case Kind::kSize:
      return nccl_tests::ParseCount(word, row.size_bytes);
    case Kind::kCount:
      return nccl_tests::ParseCount(word, row.count);
    case Kind::kMedian:
      return ParseMeasured(word, row.median_us);
    case Kind::kP75:
      return ParseMeasured(word, row.spread.p75_us);
    case Kind::kP95:
      return ParseMeasured(word, row.spread.p95_us);
    case Kind::kMin:
      return ParseMeasured(word, row.spread.min_us);
    case Kind::kMax:
      return ParseMeasured(word, row.spread.max_us);
    case Kind::kAlgbw:
      return ParseBandwidth(word, row.algbw);
    case Kind::kBusbw:
      return ParseBandwidth(word, row.busbw);
    case Kind::kOther:
      return true;
  }
  return false;
}

std::optional<ResultRow> ResultColumns::ParseRow(const ResultLine& line) const {
  if (line.words.size() != columns_.size()) {
    return std::nullopt;
  }
  ResultRow row;
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    if (!Store(columns_[index], line.words[index].text, row)) {
      return std::nullopt;
    }
  }
  return row;
}

}  // namespace orrery::ingest::param_comms
