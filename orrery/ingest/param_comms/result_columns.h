#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/ingest/nccl_tests/column_layout.h"

namespace orrery::ingest::param_comms {

/// A line that PARAM marks as a result: "COMMS-RES-all_reduce-float32   8   2   12.3 …".
struct ResultLine {
  std::string_view tag;                 // directly after the mark: "-all_reduce-float32"
  std::vector<nccl_tests::Word> words;  // after the tag
};

/// Finds the mark, after any launcher prefix.
[[nodiscard]] std::optional<ResultLine> SplitResultLine(std::string_view line);

/// The distribution of the ranks' times; the median is the row's time.
struct RankSpread {
  std::optional<double> p75_us;
  std::optional<double> p95_us;
  std::optional<double> min_us;
  std::optional<double> max_us;
};

struct ResultRow {
  std::int64_t size_bytes = 0;
  std::int64_t count = 0;
  double median_us = 0;
  double algbw = 0;
  double busbw = 0;
  RankSpread spread;
};

/// The columns of a row, as the header line names them.
class ResultColumns {
 public:
  /// Parses a line such as "COMMS-RES  size (B)  nElementsPerRank  Latency(us):p50 …".
  static std::optional<ResultColumns> FromHeader(const ResultLine& line);

  /// Returns the columns of rows whose header is missing, by their number.
  static std::optional<ResultColumns> Assumed(std::size_t num_words);

  /// Reads a row; nothing if it is torn or something in it is not a number.
  [[nodiscard]] std::optional<ResultRow> ParseRow(const ResultLine& line) const;

  /// Says why the rows are not times of one collective alone; empty: they are.
  [[nodiscard]] std::string_view skip_reason() const { return skip_reason_; }

  /// Names of columns that we do not understand.
  [[nodiscard]] const std::vector<std::string_view>& unknown() const { return unknown_; }

 private:
  enum class Kind { kSize, kCount, kMedian, kP75, kP95, kMin, kMax, kAlgbw, kBusbw, kOther };

  static bool Store(Kind kind, std::string_view word, ResultRow& row);
  void AddColumn(std::string_view name);

  std::vector<Kind> columns_;
  std::vector<std::string_view> unknown_;
  std::string_view skip_reason_;
};

}  // namespace orrery::ingest::param_comms
