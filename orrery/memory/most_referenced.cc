#include "orrery/memory/most_referenced.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace orrery::memory {
namespace {

std::vector<std::int64_t> AccessesOfActivities(const trace::Trace& trace) {
  std::vector<std::int64_t> accesses(trace.activities.size(), 0);
  for (RowId touch = 0; touch < trace.touches.size(); ++touch) {
    const RowId activity = trace.touches.activity[touch];
    const trace::Coverage coverage = trace.touches.coverage[touch];
    const bool is_counted =
        coverage == trace::Coverage::kExact || coverage == trace::Coverage::kPartial;
    if (activity != kNoRow && is_counted) {
      accesses[activity] += std::max<std::int64_t>(trace.touches.lanes[touch], 0);
    }
  }
  return accesses;
}

struct PlaceUse {
  std::int64_t accesses = 0;
  std::int64_t num_launches = 0;
};

// By name and stack. Texts are looked up once for each, not for each launch.
std::map<std::pair<StringId, StringId>, PlaceUse> UsesOfPlaces(const trace::Trace& trace) {
  const std::vector<std::int64_t> accesses = AccessesOfActivities(trace);
  std::map<std::pair<StringId, StringId>, PlaceUse> uses;
  for (RowId row = 0; row < trace.observations.size(); ++row) {
    const RowId activity = trace.observations.activity[row];
    if (activity != kNoRow &&
        trace.activities.kind[activity] == trace::ActivityKind::kKernel) {
      PlaceUse& use = uses[{trace.activities.name[activity], trace.observations.call_stack[row]}];
      ++use.num_launches;
      use.accesses += accesses[activity];
    }
  }
  return uses;
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

void ReferenceCounter::Add(const trace::Trace& piece) {
  for (const auto& [place, use] : UsesOfPlaces(piece)) {
    const auto& [name, stack] = place;
    has_stacks_ = has_stacks_ || stack != StringId::kEmpty;
    KernelUse& kernel = by_name_[std::string(piece.Text(name))];
    kernel.accesses += use.accesses;
    kernel.num_launches += use.num_launches;
    kernel.accesses_of_stack[std::string(piece.Text(stack))] += use.accesses;
  }
}

std::optional<MostReferenced> ReferenceCounter::Most() const {
  // The first of those that are equal.
  const auto most = std::ranges::max_element(
      by_name_, [](const auto& a, const auto& b) { return a.second.accesses < b.second.accesses; });
  if (!has_stacks_ || most == by_name_.end() || most->second.accesses == 0) {
    return std::nullopt;
  }
  const auto& [name, use] = *most;
  const auto stack = std::ranges::max_element(
      use.accesses_of_stack, [](const auto& a, const auto& b) { return a.second < b.second; });
  return MostReferenced{.kernel = name,
                        .accesses = use.accesses,
                        .num_launches = use.num_launches,
                        .call_stack = FramesOf(stack->first),
                        .stack_accesses = stack->second};
}

}  // namespace orrery::memory
