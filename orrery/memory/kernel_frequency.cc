#include "orrery/memory/kernel_frequency.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "orrery/memory/kernel_name.h"

namespace orrery::memory {
namespace {


template <typename Item>
void SortByCount(std::vector<Item>& items, std::string Item::*name) {
  std::ranges::sort(items, [&](const Item& a, const Item& b) {
    return std::tie(b.count, a.*name) < std::tie(a.count, b.*name);
  });
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

}  // namespace orrery::memory
