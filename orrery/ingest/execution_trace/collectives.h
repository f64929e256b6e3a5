#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/document/json_value.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// Fills `process_groups`, `collectives` and the rank from the graph nodes, which must be linked.
/// Calls come from `record_param_comms`; a trace without any (fake process groups) has
/// the communication operators themselves instead, the outermost of nested ones.
void ReadCollectives(trace::Trace& trace);

/// Total size of tensors; -1 where it is not known.
struct TensorSize {
  std::int64_t elements = -1;
  std::int64_t bytes = -1;

  bool operator==(const TensorSize&) const = default;
};

/// Adds up the tensors of a value: one tensor `[id, storage, offset, elements, element bytes,
/// device]` or lists of them, nested at will. Not known if there is no tensor in it.
[[nodiscard]] TensorSize SumTensors(const std::optional<JsonElement>& value);

/// Returns the element type of "Tensor(float)", and of the first tensor of
/// "GenericList[Tensor(c10::Half),Int]".
[[nodiscard]] DataType TensorElementType(std::string_view type);

/// The process group of a communication call.
struct GroupReference {
  std::string name = {};
  std::string description = {};
  std::uint64_t communicator = 0;  // a pointer of this process: old files have nothing else
  std::int32_t num_ranks = -1;
  std::int32_t rank_start = -1;
  std::int32_t rank_stride = -1;

  [[nodiscard]] bool is_named() const { return !name.empty() || communicator != 0; }
};

/// Fills `process_groups`, world size and backend from the nodes `## process_group:init ##`.
void ReadDeclaredGroups(trace::Trace& trace);

/// Returns the group that a call means, with what the call knows filled in; adds it if it is new.
/// A call that does not say belongs to the only group, where there is one, else to none.
[[nodiscard]] RowId ResolveGroup(trace::Trace& trace, const GroupReference& reference);

/// Returns the global rank of member `rank_in_group`, -1 if the group does not tell.
[[nodiscard]] std::int32_t GlobalRank(const trace::Trace& trace, RowId group,
                                      std::int32_t rank_in_group);

}  // namespace orrery::ingest::execution_trace
