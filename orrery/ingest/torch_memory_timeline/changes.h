#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::torch_memory_timeline {

/// What a category of tensors gained or lost.
struct Change {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::string_view category;
};

enum class Form { kOther, kSums, kRaw };

/// Tells the forms apart from the first bytes.
[[nodiscard]] Form FormOf(std::string_view head);

/// Reads changes in the order of the file. What was there before the recording comes at its first
/// known time.
[[nodiscard]] Result<std::vector<Change>> ReadChanges(Form form, ByteSource& source,
                                                      trace::ProblemLog& problems);

}  // namespace orrery::ingest::torch_memory_timeline
