#include "orrery/overlap/from_traces/derived_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/nsight_compute.h"

namespace orrery::overlap::from_traces {
namespace {

using Size = std::array<std::int64_t, 3>;

std::string SizeText(const Size& size) {
  return size[0] > 0 ? fmt::format("{}x{}x{}", size[0], size[1], size[2]) : "";
}

/// Fills one row of a table by column names; the first row creates the columns.
class RowWriter {
 public:
  explicit RowWriter(Table& table) : table_(table), row_(table.AddRow()) {}

  RowWriter& Text(std::string_view column, const std::string& text) {
    return Set(column, Table::Type::kText, text.empty() ? Table::Cell() : Table::Cell(text));
  }

  /// Values below 0 are not known.
  RowWriter& Known(std::string_view column, std::int64_t value) {
    return Set(column, Table::Type::kInteger, value < 0 ? Table::Cell() : Table::Cell(value));
  }

  RowWriter& Integer(std::string_view column, std::int64_t value) {
    return Set(column, Table::Type::kInteger, value);
  }

  RowWriter& Number(std::string_view column, double value) {
    return Set(column, Table::Type::kNumber,
               std::isnan(value) ? Table::Cell() : Table::Cell(value));
  }

 private:
  RowWriter& Set(std::string_view name, Table::Type type, Table::Cell cell) {
    const auto found = table_.FindColumn(name);
    const std::size_t at = found ? *found : table_.AddColumn(std::string(name), type);
    table_.Set(row_, at, std::move(cell));
    return *this;
  }

  Table& table_;
  std::size_t row_;
};

/// The counters of a kernel: of its launch, else of its function if all its launches are equal.
class CounterLookup {
 public:
  explicit CounterLookup(const CountedKernels* counted) {
    if (counted == nullptr) {
      return;
    }
    for (const CountedKernel& kernel : counted->kernels) {
      const std::string name = FunctionName(kernel.name);
      by_launch_.emplace(std::tuple(name, kernel.grid, kernel.block), &kernel);
      const auto [found, is_new] = by_name_.emplace(name, &kernel);
      if (!is_new && found->second != nullptr && found->second->shape != kernel.shape) {
        found->second = nullptr;
      }
    }
  }

  Counters Find(const RunKernel& kernel) const {
    const std::string name = FunctionName(kernel.name);
    if (const auto found = by_launch_.find(std::tuple(name, kernel.grid, kernel.block));
        found != by_launch_.end()) {
      return found->second->counters;
    }
    const auto found = by_name_.find(name);
    return found != by_name_.end() && found->second != nullptr ? found->second->counters
                                                               : Counters{};
  }

 private:
  std::map<std::tuple<std::string, Size, Size>, const CountedKernel*> by_launch_;
  std::map<std::string, const CountedKernel*> by_name_;  // null: launches differ
};

void WriteKernel(RowWriter& row, const RunKernel& kernel) {
  row.Text("kernel", kernel.name)
      .Text("grid", SizeText(kernel.grid))
      .Text("block", SizeText(kernel.block))
      .Known("registers", kernel.shape.registers > 0 ? kernel.shape.registers : -1)
      .Known("shared_bytes", kernel.shape.IsKnown() ? kernel.shape.shared_bytes : -1);
}

void WriteTimes(RowWriter& row, const TracePair& pair) {
  row.Number("alone_ns", pair.alone_ns)
      .Number("together_ns", pair.together_ns)
      .Integer("overlap_ns", pair.overlap_ns)
      .Number("overlap_ratio", pair.OverlapRatio())
      .Number("slowdown", pair.slowdown)
      .Number("echo_slowdown", pair.echo_slowdown)
      .Number("clock_ratio", pair.clock_ratio)
      .Text("rejected", std::string(RejectionName(pair.rejection)));
}

/// Without overlap it is empty, so that the columns exist.
void WriteCommunication(RowWriter& row, const RunCommunication& communication) {
  row.Text("c_name", communication.name)
      .Text("c_collective", communication.collective)
      .Known("c_bytes", communication.bytes)
      .Known("c_ranks", communication.ranks)
      .Known("c_channels", communication.channels > 0 ? communication.channels : -1)
      .Known("c_threads", communication.threads > 0 ? communication.threads : -1)
      .Text("c_algorithm", communication.algorithm)
      .Text("c_protocol", communication.protocol);
}

void WriteCounters(RowWriter& row, const Counters& counters) {
  for (const auto& [column, counter] : kCounterColumns) {
    row.Number(column, counters.*counter);
  }
}

void WritePair(Table& table, const JoinedRank& rank, const TracePair& pair,
               const CounterLookup* counters) {
  RowWriter row(table);
  const RunKernel& kernel = rank.together.kernels[pair.together];
  row.Integer("rank", rank.rank)
      .Integer("device", kernel.device)
      .Integer("stream", kernel.stream)
      .Integer("begin_ns", kernel.begin_ns);
  WriteKernel(row, kernel);
  WriteTimes(row, pair);
  const bool has_communication = pair.communication >= 0;
  WriteCommunication(
      row, has_communication
               ? rank.together.communications[static_cast<std::size_t>(pair.communication)]
               : RunCommunication{});
  row.Number("c_since_ns", has_communication ? static_cast<double>(pair.since_ns) : kUnknown);
  if (counters != nullptr) {
    WriteCounters(row, counters->Find(kernel));
  }
}

void WriteUnmatched(Table& table, const JoinedRank& rank, std::string_view side,
                    const RunKernels& run, const std::vector<std::uint32_t>& positions) {
  for (const std::uint32_t at : positions) {
    const RunKernel& kernel = run.kernels[at];
    RowWriter row(table);
    row.Integer("rank", rank.rank)
        .Text("only", std::string(side))
        .Integer("number", at + 1)
        .Integer("stream", kernel.stream);
    WriteKernel(row, kernel);
    row.Integer("duration_ns", kernel.duration_ns);
  }
}

struct Weighted {
  double value = 0;
  double weight = 0;
};

/// The value at half of the total weight.
double WeightedMedian(std::vector<Weighted> weighted) {
  std::ranges::stable_sort(weighted, {}, &Weighted::value);
  double total = 0;
  for (const Weighted& item : weighted) {
    total += item.weight;
  }
  double sum = 0;
  for (const Weighted& item : weighted) {
    sum += item.weight;
    if (sum >= total / 2) {
      return item.value;
    }
  }
  return kUnknown;
}

}  // namespace

Result<JoinedRank> JoinRank(std::int32_t rank, RunKernels alone, RunKernels together, JoinBy by) {
  JoinedRank joined{.rank = rank,
                    .alone = std::move(alone),
                    .together = std::move(together),
                    .join = {},
                    .derived = {}};
  if (joined.together.communications.empty()) {
    return Invalid(
        "the run with communication has no communication kernel; give the run without "
        "communication first");
  }
  ORRERY_TRY(joined.join, JoinKernels(joined.alone, joined.together, by));
  joined.derived = MakePairs(joined.alone, joined.together, joined.join);
  return joined;
}

Table PairTableOf(const std::vector<JoinedRank>& ranks, const CountedKernels* counters) {
  Table table;
  const CounterLookup lookup(counters);
  for (const JoinedRank& rank : ranks) {
    for (const TracePair& pair : rank.derived.pairs) {
      WritePair(table, rank, pair, counters == nullptr ? nullptr : &lookup);
    }
  }
  return table;
}

Table UnmatchedTable(const std::vector<JoinedRank>& ranks) {
  Table table;
  for (const JoinedRank& rank : ranks) {
    WriteUnmatched(table, rank, "alone", rank.alone, rank.join.only_alone);
    WriteUnmatched(table, rank, "together", rank.together, rank.join.only_together);
  }
  return table;
}

Table CommunicationTable(const std::vector<JoinedRank>& ranks) {
  Table table;
  for (const JoinedRank& rank : ranks) {
    for (const RunCommunication& communication : rank.together.communications) {
      RowWriter row(table);
      row.Integer("rank", rank.rank)
          .Integer("device", communication.device)
          .Integer("begin_ns", communication.begin_ns)
          .Integer("duration_ns", communication.duration_ns);
      WriteCommunication(row, communication);
    }
  }
  return table;
}

std::vector<KernelMedian> MediansOf(const std::vector<JoinedRank>& ranks) {
  std::map<std::string, KernelMedian> by_name;
  std::map<std::string, std::vector<Weighted>> slowdowns;
  for (const JoinedRank& rank : ranks) {
    for (const TracePair& pair : rank.derived.pairs) {
      if (pair.rejection != Rejection::kKept) {
        continue;
      }
      const std::string name = FunctionName(rank.together.kernels[pair.together].name);
      KernelMedian& median = by_name[name];
      median.kernel = name;
      ++median.pairs;
      median.alone_us += pair.alone_ns / 1e3;
      median.together_us += pair.together_ns / 1e3;
      median.overlap_us += static_cast<double>(pair.overlap_ns) / 1e3;
      slowdowns[name].push_back({pair.slowdown, static_cast<double>(pair.overlap_ns)});
    }
  }
  std::vector<KernelMedian> medians;
  for (auto& [name, median] : by_name) {
    median.slowdown = WeightedMedian(std::move(slowdowns[name]));
    medians.push_back(std::move(median));
  }
  std::ranges::stable_sort(medians, std::ranges::greater{}, &KernelMedian::together_us);
  return medians;
}

Table MedianTable(const std::vector<KernelMedian>& medians) {
  Table table;
  for (const KernelMedian& median : medians) {
    RowWriter(table)
        .Text("kernel", median.kernel)
        .Integer("pairs", static_cast<std::int64_t>(median.pairs))
        .Number("alone_us", median.alone_us)
        .Number("together_us", median.together_us)
        .Number("overlap_us", median.overlap_us)
        .Number("slowdown", median.slowdown);
  }
  return table;
}

}  // namespace orrery::overlap::from_traces
