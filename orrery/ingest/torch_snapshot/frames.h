#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <tsl/robin_map.h>

#include "orrery/base/string_table.h"
#include "orrery/ingest/torch_snapshot/pickle_value.h"

namespace orrery::ingest::torch_snapshot {

/// Call stacks as text, a line "function file:line" for each frame, the innermost first. Frames
/// that Python shared are written once. Long texts are cut and all together are bounded, so that a
/// small file cannot ask for much memory.
class Frames {
 public:
  Frames(const PickleData& data, StringTable& strings) : data_(&data), strings_(&strings) {}

  /// The stack in `frames` of a dictionary; kEmpty if there is none.
  StringId StackOf(PickleValue item);

  /// Stacks that were left out because there is too much text.
  [[nodiscard]] std::int64_t num_left_out() const { return num_left_out_; }

 private:
  StringId FrameText(PickleValue frame);

  const PickleData* data_;
  StringTable* strings_;
  tsl::robin_map<std::uint64_t, StringId> text_of_frame_;
  tsl::robin_map<std::uint64_t, StringId> text_of_stack_;
  std::string text_;
  std::size_t total_bytes_ = 0;
  std::int64_t num_left_out_ = 0;
};

}  // namespace orrery::ingest::torch_snapshot
