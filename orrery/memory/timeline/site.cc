#include "orrery/memory/timeline/site.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace orrery::memory::timeline {
namespace {


template <typename Table>
std::string PathOf(const trace::Trace& trace, const Table& table, RowId row) {
  std::vector<std::string_view> names;
  for (; row != kNoRow; row = table.parent[row]) {
    names.push_back(trace.Text(table.name[row]));
  }
  std::string path;
  for (std::size_t i = names.size(); i > 0; --i) {
    path += path.empty() ? "" : " > ";
    path += names[i - 1];
  }
  return path;
}

bool IsOfFramework(std::string_view frame) {
  constexpr std::array<std::string_view, 5> kMarks = {
      "/torch/", "torch::", "c10::", "at::", "CUDACachingAllocator"};
  for (const std::string_view mark : kMarks) {
    if (frame.find(mark) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// Frames are lines, the innermost first.
std::string FrameOf(std::string_view stack) {
  std::string_view innermost;
  while (!stack.empty()) {
    const std::size_t end = stack.find('\n');
    std::string_view frame = stack.substr(0, end);
    frame.remove_prefix(std::min(frame.find_first_not_of(' '), frame.size()));
    if (innermost.empty()) {
      innermost = frame;
    }
    if (!frame.empty() && !IsOfFramework(frame)) {
      return std::string(frame);
    }
    stack.remove_prefix(end == std::string_view::npos ? stack.size() : end + 1);
  }
  return std::string(innermost);
}

}  // namespace

Site SiteOf(const trace::Trace& trace, const Life& life) {
  Site site{.operators = {}, .region = {}, .frame = FrameOf(trace.Text(life.call_stack))};
  if (life.host_op != kNoRow) {
    site.operators = PathOf(trace, trace.host_ops, life.host_op);
    RowId outermost = life.host_op;
    while (trace.host_ops.parent[outermost] != kNoRow) {
      outermost = trace.host_ops.parent[outermost];
    }
    site.region = PathOf(trace, trace.annotations, trace.host_ops.annotation[outermost]);
  }
  return site;
}

std::string SiteText(const trace::Trace& trace, const Life& life) {
  const Site site = SiteOf(trace, life);
  if (!site.operators.empty()) {
    return site.operators;
  }
  if (!site.frame.empty()) {
    return site.frame;
  }
  if (life.name != StringId::kEmpty) {
    return std::string(trace.Text(life.name));
  }
  return life.is_from_before ? "before the recording" : "not known";
}

}  // namespace orrery::memory::timeline
