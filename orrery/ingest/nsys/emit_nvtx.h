#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::ingest::nsys {

/// An operator as PyTorch's `emit_nvtx` writes it into the text of a range.
struct EmittedOperator {
  std::string_view name = {};
  std::int64_t sequence = -1;
  std::int64_t record_function_id = 0;  // "op_id" is the handle of the record function
  std::string_view sizes = {};          // "[[4, 8]]", which is JSON; empty if not told
  std::string_view input_op_ids = {};   // "[(3,0)]"; empty if not told
};

/// Takes "aten::view, seq = 12, op_id = 314, sizes = [[4, 8]], input_op_ids = [(3,0)]" apart; every
/// part after the name is optional. Nothing if the text is not of that kind: it has none of the
/// parts and its name is not in the namespace of PyTorch's operators.
[[nodiscard]] std::optional<EmittedOperator> ParseEmittedOperator(std::string_view text);

}  // namespace orrery::ingest::nsys
