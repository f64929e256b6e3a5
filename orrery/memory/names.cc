#include "orrery/memory/names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

// Names with brackets that open nothing, longer ones before their prefixes.
constexpr auto kKeptNames = std::to_array<std::string_view>(
    {"(anonymous namespace)", "operator()", "operator<=>", "operator<<", "operator<=", "operator<",
     "operator>>", "operator>=", "operator>", "operator->"});

// The length of a name at the begin of the text that is kept whatever brackets it has.
std::size_t LengthOfName(std::string_view text) {
  const auto found = std::ranges::find_if(
      kKeptNames, [&](std::string_view name) { return text.starts_with(name); });
  return found == kKeptNames.end() ? 0 : found->size();
}

}  // namespace

std::string ShortKernelName(std::string_view full_name) {
  std::string_view text = full_name;
  text.remove_prefix(text.starts_with("void ") ? 5 : 0);
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t length = LengthOfName(text.substr(i));
    if (length > 0) {
      name += depth == 0 ? text.substr(i, length) : "";
      i += length - 1;
    } else if (text[i] == '<') {
      ++depth;
    } else if (text[i] == '>' && depth > 0) {
      depth -= text[i - 1] == '-' ? 0 : 1;
    } else if (text[i] == '(' && depth == 0) {
      break;
    } else if (depth == 0) {
      name += text[i];
    }
  }
  return name.empty() ? std::string(full_name) : name;
}

std::string_view MemoryClassName(trace::MemoryClass memory_class) {
  constexpr std::array<std::string_view, 7> kNames{"unknown", "device", "managed", "pinned",
                                                   "segment", "tensor", "static"};
  return kNames[static_cast<std::size_t>(memory_class)];
}

std::string_view ObjectName(const trace::Trace& trace, RowId object) {
  const trace::MemoryObjects& objects = trace.memory_objects;
  const std::string_view name = trace.Text(objects.name[object]);
  const RowId allocator = objects.host_op[object];
  const std::string_view word =
      name.empty() && allocator != kNoRow ? trace.Text(trace.host_ops.name[allocator]) : name;
  return word.empty() ? MemoryClassName(objects.memory_class[object]) : word;
}

std::string ObjectLabel(std::string_view name, std::int64_t id, std::int64_t number) {
  return fmt::format("{} #{}", name, id < 0 ? number : id);
}

std::string ObjectLabel(const trace::Trace& trace, RowId object) {
  if (object == kNoRow) {
    return "outside objects";
  }
  return ObjectLabel(ObjectName(trace, object), trace.memory_objects.id[object], object);
}

}  // namespace orrery::memory
