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

std::string_view ObjectWord(const trace::Trace& trace, RowId object) {
  const trace::MemoryObjects& objects = trace.memory_objects;
  const std::string_view name = trace.Text(objects.name[object]);
  const RowId allocator = objects.host_op[object];
  const std::string_view word = name.empty() && allocator != kNoRow
                                    ? trace.Text(trace.host_ops.name[allocator])
                                    : name;
  return word.empty() ? MemoryClassName(objects.memory_class[object]) : word;
}

std::string ObjectLabel(std::string_view word, std::int64_t id, std::int64_t number) {
  return fmt::format("{} #{}", word, id < 0 ? number : id);
}

std::string ObjectLabel(const trace::Trace& trace, RowId object) {
  if (object == kNoRow) {
    return "outside of objects";
  }
  return ObjectLabel(ObjectWord(trace, object), trace.memory_objects.id[object], object);
}

}  // namespace orrery::memory
