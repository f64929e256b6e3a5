#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/ingest/json_value.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {

/// Fills `process_groups`, `collectives` and the rank from the graph nodes, which must be linked.
/// Calls come from `record_param_comms`; a trace without any (process groups that only pretend) has
/// the communication operators themselves instead, the outermost of each nest.
void ReadCollectives(trace::Trace& trace);

/// How much tensors hold together; -1 where that is not known.
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
[[nodiscard]] trace::DataType TensorElementType(std::string_view type);

}  // namespace orrery::ingest::execution_trace
