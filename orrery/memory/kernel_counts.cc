#include "orrery/memory/kernel_counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/memory/names.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

template <typename Item>
void SortByCount(std::vector<Item>& items, std::string Item::* name) {
  std::ranges::sort(items, [&](const Item& a, const Item& b) {
    return std::tie(b.count, a.*name) < std::tie(a.count, b.*name);
  });
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

void KernelCounter::Add(const trace::Trace& piece) {
  std::vector<Total> by_id(piece.strings.size());
  for (RowId row = 0; row < piece.activities.size(); ++row) {
    if (piece.activities.kind[row] == trace::ActivityKind::kKernel) {
      Total& total = by_id[static_cast<std::size_t>(piece.activities.name[row])];
      ++total.count;
      total.total_ns += piece.activities.duration_ns[row];
    }
  }
  for (std::size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id].count > 0) {
      Total& total = by_name_[std::string(piece.Text(static_cast<StringId>(id)))];
      total.count += by_id[id].count;
      total.total_ns += by_id[id].total_ns;
    }
  }
}

KernelFrequency KernelCounter::Count() const {
  std::map<std::string, KernelGroup> by_short_name;
  KernelFrequency result;
  for (const auto& [full_name, total] : by_name_) {
    KernelGroup& group = by_short_name[ShortKernelName(full_name)];
    group.count += total.count;
    group.total_ns += total.total_ns;
    group.variants.push_back({.full_name = full_name, .count = total.count});
    result.num_launches += total.count;
    result.total_ns += total.total_ns;
  }
  for (auto& [name, group] : by_short_name) {
    group.name = name;
    SortByCount(group.variants, &KernelGroup::Variant::full_name);
    result.groups.push_back(std::move(group));
  }
  SortByCount(result.groups, &KernelGroup::name);
  return result;
}

void ReferenceCounter::Add(const trace::Trace& piece) {
  struct Use {
    std::int64_t accesses = 0;
    std::int64_t num_launches = 0;
  };

  // By name and stack; their texts are looked up once, not for each launch.
  std::map<std::pair<StringId, StringId>, Use> uses;
  const RecordedWork work(piece);
  for (RowId row = 0; row < piece.observations.size(); ++row) {
    const WorkItem item = work.At(row);
    if (!work.IsKernel(item)) {
      continue;
    }
    Use& use = uses[{work.NameIdOf(item), piece.observations.call_stack[row]}];
    ++use.num_launches;
    for (const RowId touch : item.touches) {
      const std::int64_t lanes = work.IsCounted(touch) ? piece.touches.lanes[touch] : 0;
      use.accesses += std::max<std::int64_t>(lanes, 0);
    }
  }
  for (const auto& [place, use] : uses) {
    has_stacks_ = has_stacks_ || place.second != StringId::kEmpty;
    KernelUse& kernel = by_name_[std::string(piece.Text(place.first))];
    kernel.accesses += use.accesses;
    kernel.num_launches += use.num_launches;
    kernel.accesses_of_stack[std::string(piece.Text(place.second))] += use.accesses;
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
