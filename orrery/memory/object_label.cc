#include "orrery/memory/object_label.h"

#include <array>
#include <cstddef>

#include <fmt/core.h>

namespace orrery::memory {
namespace {

constexpr std::array<std::string_view, 7> kClassNames{"unknown", "device", "managed", "pinned",
                                                      "segment", "tensor", "static"};

}  // namespace

std::string_view MemoryClassName(trace::MemoryClass memory_class) {
  return kClassNames[static_cast<std::size_t>(memory_class)];
}

std::string ObjectLabel(const trace::Trace& trace, trace::RowId object) {
  if (object == trace::kNoRow) {
    return "outside of objects";
  }
  const trace::MemoryObjects& objects = trace.memory_objects;
  const trace::RowId allocator = objects.host_op[object];
  std::string_view word = trace.Text(objects.name[object]);
  if (word.empty() && allocator != trace::kNoRow) {
    word = trace.Text(trace.host_ops.name[allocator]);
  }
  return fmt::format("{} #{}", word.empty() ? MemoryClassName(objects.memory_class[object]) : word,
                     objects.id[object] < 0 ? object : objects.id[object]);
}

}  // namespace orrery::memory
