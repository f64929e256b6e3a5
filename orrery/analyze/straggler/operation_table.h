#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::analyze {

/// The types of operations of a training step, as the published timelines name them.
enum class OperationType : std::uint8_t {
  kForward,
  kBackward,
  kForwardSend,
  kForwardReceive,
  kBackwardSend,
  kBackwardReceive,
  kAllGather,
  kReduceScatter,
  kLayernormAllReduce,
  kEmbeddingAllReduce,
  kClip,
  kOptimizer,
  kGc,
};

/// Returns the published name: "forward-compute".
[[nodiscard]] std::string_view OperationTypeName(OperationType type);

/// Returns the class that the type counts to: sends and receives of a direction are one.
[[nodiscard]] std::string_view OperationClassName(OperationType type);

/// Returns true for compute, whose ideal duration is the mean over workers; for communication it is
/// the median.
[[nodiscard]] bool IsCompute(OperationType type);

/// A timeline of operations as a full grid: each operation in each step on each data-parallel rank.
struct OperationTable {
  struct Operation {
    OperationType type;
    std::int32_t stage;
    std::int64_t seq_id;
  };

  struct Times {
    std::int64_t start_ns = -1;
    std::int64_t duration_ns = 0;
  };

  std::vector<Operation> operations;  // in order of stage, type and seq_id
  std::vector<std::int64_t> steps;    // in order
  std::vector<std::int32_t> dp_ranks;
  std::vector<std::int32_t> stages;
  std::vector<StragglerWorker> workers;  // in order of data-parallel rank, then stage
  std::vector<std::string> classes;      // those that there are, in order of type
  std::vector<Times> times;              // [operation][step][place in dp_ranks]

  /// Fails where an operation is of an unknown type, missing or there twice.
  [[nodiscard]] static Result<OperationTable> Of(const Table& rows);

  [[nodiscard]] std::size_t Place(std::size_t operation, std::size_t step, std::size_t dp) const {
    return (operation * steps.size() + step) * dp_ranks.size() + dp;
  }

  [[nodiscard]] const Times& At(std::size_t operation, std::size_t step, std::size_t dp) const {
    return times[Place(operation, step, dp)];
  }

  /// Returns the place in `workers`.
  [[nodiscard]] std::size_t WorkerOf(std::size_t dp, std::int32_t stage) const;

  /// Returns the time from the first start to the last end of a step.
  [[nodiscard]] std::int64_t MeasuredNs(std::size_t step) const;
};

}  // namespace orrery::analyze
