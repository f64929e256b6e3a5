#include "orrery/memory/most_referenced.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "orrery/memory/recorded_work.h"

namespace orrery::memory {
namespace {

struct KernelUse {
  std::int64_t accesses = 0;
  std::int64_t num_launches = 0;
  std::map<std::string_view, std::int64_t> by_stack = {};
};

std::int64_t AccessesOf(const RecordedWork& work, const WorkItem& item) {
  std::int64_t accesses = 0;
  for (const trace::RowId touch : item.touches) {
    if (work.IsCounted(touch)) {
      accesses += std::max<std::int64_t>(work.trace().touches.lanes[touch], 0);
    }
  }
  return accesses;
}

std::map<std::string_view, KernelUse> UsesByKernel(const RecordedWork& work) {
  const trace::Trace& trace = work.trace();
  std::map<std::string_view, KernelUse> by_name;
  work.ForEach([&](const WorkItem& item) {
    if (!work.IsKernel(item) || item.observation == trace::kNoRow) {
      return;
    }
    KernelUse& use = by_name[work.NameOf(item)];
    const std::int64_t accesses = AccessesOf(work, item);
    ++use.num_launches;
    use.accesses += accesses;
    use.by_stack[trace.Text(trace.observations.call_stack[item.observation])] += accesses;
  });
  return by_name;
}

std::vector<std::string> FramesOf(std::string_view stack) {
  std::vector<std::string> frames;
  while (!stack.empty()) {
    const std::size_t end = std::min(stack.find('\n'), stack.size());
    frames.emplace_back(stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return frames;
}

}  // namespace

std::optional<MostReferenced> FindMostReferenced(const trace::Trace& trace) {
  const auto has_text = [](StringId stack) { return stack != StringId::kEmpty; };
  if (std::ranges::none_of(trace.observations.call_stack, has_text)) {
    return std::nullopt;
  }
  const RecordedWork work(trace);
  const auto by_name = UsesByKernel(work);
  // The first of those that are equal.
  const auto most = std::ranges::max_element(
      by_name, [](const auto& a, const auto& b) { return a.second.accesses < b.second.accesses; });
  if (most == by_name.end() || most->second.accesses == 0) {
    return std::nullopt;
  }
  const auto& [name, use] = *most;
  const auto stack = std::ranges::max_element(
      use.by_stack, [](const auto& a, const auto& b) { return a.second < b.second; });
  return MostReferenced{.kernel = std::string(name),
                        .accesses = use.accesses,
                        .num_launches = use.num_launches,
                        .call_stack = FramesOf(stack->first),
                        .stack_accesses = stack->second};
}

}  // namespace orrery::memory
