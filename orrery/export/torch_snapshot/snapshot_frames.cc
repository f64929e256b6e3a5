#include "orrery/export/torch_snapshot/snapshot_frames.h"

#include <charconv>
#include <cstddef>

namespace orrery::exporting {
namespace {

// Deeper than operators nest; parents of a damaged recording may form a circle.
constexpr int kMaxOperators = 64;

}  // namespace

Frame FrameOf(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::int64_t line = 0;
  if (colon == std::string_view::npos) {
    return {.name = std::string(text)};
  }
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, line);
  if (error != std::errc() || rest != end || line < 0) {
    return {.name = std::string(text)};
  }
  const std::string_view place = text.substr(0, colon);
  const std::size_t blank = place.rfind(' ');
  if (blank == std::string_view::npos) {
    return {.file = std::string(place), .line = line};
  }
  return {.name = std::string(place.substr(0, blank)),
          .file = std::string(place.substr(blank + 1)),
          .line = line};
}

void SnapshotFrames::Write(RowId object) {
  const StringId stack = trace_.memory_objects.call_stack[object];
  RowId op = trace_.memory_objects.host_op[object];
  const auto [known, is_new] = lists_.try_emplace({stack, op}, 0);
  if (!is_new) {
    pickle_.Again(known->second);
    return;
  }
  known->second = pickle_.BeginSharedList();
  std::string_view lines = trace_.Text(stack);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    WriteFrame(FrameOf(lines.substr(0, end)));
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
  }
  for (int depth = 0; op != kNoRow && depth < kMaxOperators; ++depth) {
    WriteFrame({.name = std::string(trace_.Text(trace_.host_ops.name[op])), .file = "operator"});
    op = trace_.host_ops.parent[op];
  }
  pickle_.EndList();
}

void SnapshotFrames::WriteFrame(const Frame& frame) {
  pickle_.BeginDict();
  pickle_.Text("filename", frame.file);
  pickle_.Integer("line", frame.line);
  pickle_.Text("name", frame.name);
  pickle_.EndDict();
}

}  // namespace orrery::exporting
