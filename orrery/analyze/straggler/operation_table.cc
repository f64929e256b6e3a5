#include "orrery/analyze/straggler/operation_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::analyze {
namespace {

using enum OperationType;

constexpr double kMostNs = 1e18;  // 31 years

struct TypeWords {
  OperationType type;
  std::string_view name;
  std::string_view class_name;
  bool is_compute;
};

constexpr std::string_view kForwardMessages = "forward-pp-comm";
constexpr std::string_view kBackwardMessages = "backward-pp-comm";

// In the order of OperationType.
constexpr auto kTypes = std::to_array<TypeWords>({
    {kForward, "forward-compute", "forward-compute", true},
    {kBackward, "backward-compute", "backward-compute", true},
    {kForwardSend, "forward-send", kForwardMessages, false},
    {kForwardReceive, "forward-recv", kForwardMessages, false},
    {kBackwardSend, "backward-send", kBackwardMessages, false},
    {kBackwardReceive, "backward-recv", kBackwardMessages, false},
    {kAllGather, "params-all-gather", "params-all-gather", false},
    {kReduceScatter, "grads-reduce-scatter", "grads-reduce-scatter", false},
    {kLayernormAllReduce, "layernorm-grads-all-reduce", "layernorm-grads-all-reduce", false},
    {kEmbeddingAllReduce, "embedding-grads-all-reduce", "embedding-grads-all-reduce", false},
    {kClip, "optimizer-clip-main-grad", "optimizer-clip-main-grad", false},
    {kOptimizer, "optimizer", "optimizer", true},
    {kGc, "gc", "gc", true},
});

const TypeWords& WordsOf(OperationType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

Result<OperationType> TypeNamed(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &TypeWords::name);
  if (found != kTypes.end()) {
    return found->type;
  }
  std::vector<std::string_view> known;
  for (const TypeWords& words : kTypes) {
    known.push_back(words.name);
  }
  return Invalid("optype '{}' is not known; known are {}", name, fmt::join(known, ", "));
}

using OperationKey = std::tuple<std::int32_t, OperationType, std::int64_t>;

struct Row {
  OperationKey operation;
  std::int64_t step;
  std::int32_t dp_rank;
  std::int32_t rank;
  OperationTable::Times times;
};

Result<Row> ReadRow(const Table& rows, std::size_t row) {
  const auto number = [&](std::string_view column) {
    return rows.Integer(row, column).value_or(-1);
  };
  const Result<OperationType> type = TypeNamed(rows.Text(row, "optype").value_or(""));
  if (!type) {
    return FailWithin(fmt::format("step {}, dp rank {}, stage {}", number("step"),
                                  number("dp_rank"), number("stage")),
                      type);
  }
  if (number("mc") > 0) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("step {}, stage {}: model chunk {}, but more than one chunk on a stage "
                            "(an interleaved pipeline) is not modelled",
                            number("step"), number("stage"), number("mc")));
  }
  return Row{.operation = {static_cast<std::int32_t>(number("stage")), *type, number("seq_id")},
             .step = number("step"),
             .dp_rank = static_cast<std::int32_t>(number("dp_rank")),
             .rank = static_cast<std::int32_t>(number("rank")),
             .times = {.start_ns = number("start_ns"), .duration_ns = number("duration_ns")}};
}

template <typename T>
std::size_t PlaceIn(const std::vector<T>& sorted, const T& value) {
  return static_cast<std::size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
}

/// Fills a table from rows in any order.
class TableMaker {
 public:
  Result<OperationTable> Make(const Table& rows) {
    for (std::size_t row = 0; row < rows.num_rows(); ++row) {
      ORRERY_TRY(rows_.emplace_back(), ReadRow(rows, row));
    }
    Collect();
    ORRERY_TRY_STATUS(CheckSize());
    ORRERY_TRY_STATUS(CheckTimes());
    ORRERY_TRY_STATUS(FillTimes());
    ORRERY_TRY_STATUS(AddWorkers());
    return std::move(table_);
  }

 private:
  void Collect() {
    std::set<OperationKey> operations;
    std::set<std::int64_t> steps;
    std::set<std::int32_t> dp_ranks;
    std::set<std::int32_t> stages;
    std::set<OperationType> types;
    for (const Row& row : rows_) {
      operations.insert(row.operation);
      steps.insert(row.step);
      dp_ranks.insert(row.dp_rank);
      stages.insert(std::get<0>(row.operation));
      types.insert(std::get<1>(row.operation));
    }
    keys_.assign(operations.begin(), operations.end());
    for (const auto& [stage, type, seq_id] : keys_) {
      table_.operations.push_back({type, stage, seq_id});
    }
    table_.steps.assign(steps.begin(), steps.end());
    table_.dp_ranks.assign(dp_ranks.begin(), dp_ranks.end());
    table_.stages.assign(stages.begin(), stages.end());
    for (const OperationType type : types) {
      if (table_.classes.empty() || table_.classes.back() != OperationClassName(type)) {
        table_.classes.emplace_back(OperationClassName(type));
      }
    }
  }

  // Before memory is taken: numbers from a file may be anything.
  Status CheckSize() const {
    const std::size_t per_operation = table_.steps.size() * table_.dp_ranks.size();
    if (rows_.size() % per_operation == 0 && rows_.size() / per_operation == keys_.size()) {
      return {};
    }
    return Invalid(
        "{} steps, {} dp ranks and {} operations do not make {} rows; every dp rank must have the "
        "same operations in every step",
        table_.steps.size(), table_.dp_ranks.size(), keys_.size(), rows_.size());
  }

  // So that no sum of them overflows.
  Status CheckTimes() const {
    double sum_ns = 0;
    for (const Row& row : rows_) {
      sum_ns +=
          static_cast<double>(row.times.start_ns) + static_cast<double>(row.times.duration_ns);
    }
    return sum_ns < kMostNs
               ? Status()
               : Invalid("starts and durations add up to more than {:.0g} s", kMostNs / 1e9);
  }

  Status FillTimes() {
    table_.times.resize(rows_.size());
    for (const Row& row : rows_) {
      OperationTable::Times& times =
          table_.times[table_.Place(PlaceIn(keys_, row.operation), PlaceIn(table_.steps, row.step),
                                    PlaceIn(table_.dp_ranks, row.dp_rank))];
      const auto& [stage, type, seq_id] = row.operation;
      if (times.start_ns >= 0) {
        return Invalid("step {}, dp rank {}, stage {}: {} {} is there twice", row.step, row.dp_rank,
                       stage, OperationTypeName(type), seq_id);
      }
      times = row.times;
    }
    return {};
  }

  Status AddWorkers() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> ranks;
    for (const Row& row : rows_) {
      const std::int32_t stage = std::get<0>(row.operation);
      const auto [entry, is_new] = ranks.try_emplace({row.dp_rank, stage}, row.rank);
      if (!is_new && entry->second != row.rank) {
        return Invalid("dp rank {}, stage {} has two ranks, {} and {}", row.dp_rank, stage,
                       entry->second, row.rank);
      }
    }
    for (const auto& [place, rank] : ranks) {
      table_.workers.push_back({.rank = rank, .dp_rank = place.first, .stage = place.second});
    }
    return {};
  }

  std::vector<Row> rows_;
  std::vector<OperationKey> keys_;
  OperationTable table_;
};

}  // namespace

std::string_view OperationTypeName(OperationType type) {
  return WordsOf(type).name;
}

std::string_view OperationClassName(OperationType type) {
  return WordsOf(type).class_name;
}

bool IsCompute(OperationType type) {
  return WordsOf(type).is_compute;
}

Result<OperationTable> OperationTable::Of(const Table& rows) {
  if (rows.num_rows() == 0) {
    return Invalid("a timeline without an operation");
  }
  return TableMaker().Make(rows);
}

std::size_t OperationTable::WorkerOf(std::size_t dp, std::int32_t stage) const {
  return dp * stages.size() + PlaceIn(stages, stage);
}

std::int64_t OperationTable::MeasuredNs(std::size_t step) const {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = 0;
  for (std::size_t operation = 0; operation < operations.size(); ++operation) {
    for (std::size_t dp = 0; dp < dp_ranks.size(); ++dp) {
      const Times& of = At(operation, step, dp);
      first_ns = std::min(first_ns, of.start_ns);
      last_ns = std::max(last_ns, of.start_ns + of.duration_ns);
    }
  }
  return last_ns - first_ns;
}

}  // namespace orrery::analyze
