#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/ingest/execution_trace/process_groups.h"
#include "orrery/ingest/execution_trace/tensors.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// A collective or point-to-point call as one graph node describes it.
struct CollectiveCall {
  std::string name;
  trace::CollectiveKind kind = trace::CollectiveKind::kUnknown;
  trace::DataType data_type = trace::DataType::kUnknown;
  TensorSize in;
  TensorSize out;
  std::string in_splits;  // JSON arrays; empty when there are none
  std::string out_splits;
  std::int64_t sequence = -1;
  std::int32_t rank = -1;  // in the group: of the peer for send and receive, of the root for
                           // broadcast and its kin, else of this process
  bool is_async = false;
  GroupMention group;

  /// Whether `rank` is this process.
  [[nodiscard]] bool rank_is_own() const;

  [[nodiscard]] bool is_point_to_point() const;
};

/// Reads a node `record_param_comms`: its inputs, whose layout depends on the generation, and the
/// attributes that newer writers add. Nothing for "wait".
[[nodiscard]] std::optional<CollectiveCall> ReadRecordedCall(const trace::Trace& trace,
                                                             RowId node);

/// Whether the name is one of a communication operator ("c10d::allreduce_",
/// "_c10d_functional::all_reduce"); waits are not.
[[nodiscard]] bool IsCollectiveOperator(std::string_view name);

/// Reads a communication operator; its schema says which input is what.
[[nodiscard]] CollectiveCall ReadOperatorCall(const trace::Trace& trace, RowId node);

}  // namespace orrery::ingest::execution_trace
