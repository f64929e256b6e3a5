#include "orrery/memory/kernel_frequency.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "orrery/memory/kernel_name.h"

namespace orrery::memory {
namespace {

using trace::RowId;

struct Total {
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
};

// By full name, so that names are shortened once each.
std::map<std::string_view, Total> CountFullNames(std::span<const trace::Trace* const> ranks) {
  std::map<std::string_view, Total> by_name;
  for (const trace::Trace* const rank : ranks) {
    std::vector<Total> by_id(rank->strings.size());
    for (RowId row = 0; row < rank->activities.size(); ++row) {
      if (rank->activities.kind[row] == trace::ActivityKind::kKernel) {
        Total& total = by_id[static_cast<std::size_t>(rank->activities.name[row])];
        ++total.count;
        total.total_ns += rank->activities.duration_ns[row];
      }
    }
    for (std::size_t id = 0; id < by_id.size(); ++id) {
      if (by_id[id].count > 0) {
        Total& total = by_name[rank->Text(static_cast<StringId>(id))];
        total.count += by_id[id].count;
        total.total_ns += by_id[id].total_ns;
      }
    }
  }
  return by_name;
}

template <typename Item>
void SortByCount(std::vector<Item>& items, std::string Item::* name) {
  std::ranges::sort(items, [&](const Item& a, const Item& b) {
    return std::tie(b.count, a.*name) < std::tie(a.count, b.*name);
  });
}

}  // namespace

KernelFrequency CountKernels(std::span<const trace::Trace* const> ranks) {
  std::map<std::string, KernelGroup> by_short_name;
  KernelFrequency result;
  for (const auto& [full_name, total] : CountFullNames(ranks)) {
    KernelGroup& group = by_short_name[ShortKernelName(full_name)];
    group.count += total.count;
    group.total_ns += total.total_ns;
    group.variants.push_back({.full_name = std::string(full_name), .count = total.count});
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

}  // namespace orrery::memory
