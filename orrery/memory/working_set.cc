#include "orrery/memory/working_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/names.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/used_memory.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::Coverage;

__extension__ using Sum = __int128;

// Distinct values in order, each with how often it comes.
using Counted = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The value at a position of all values, sorted.
double ValueAt(const Counted& counted, std::int64_t position) {
  for (const auto& [value, count] : counted) {
    if (position < count) {
      return static_cast<double>(value);
    }
    position -= count;
  }
  return static_cast<double>(counted.back().first);
}

double QuantileOf(const Counted& counted, std::int64_t num_values, double q) {
  const double position = q * static_cast<double>(num_values - 1);
  const auto below = static_cast<std::int64_t>(position);
  const double share = position - static_cast<double>(below);
  const double lower = ValueAt(counted, below);
  return share == 0 ? lower : lower + share * (ValueAt(counted, below + 1) - lower);
}

KernelLine::Point Largest(const KernelLine::Point& a, const KernelLine::Point& b) {
  KernelLine::Point largest = a;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    largest[i] = std::max(largest[i], b[i]);
  }
  return largest;
}

std::optional<double> Ratio(double whole, double part) {
  return part > 0 ? std::optional(whole / part) : std::nullopt;
}

KernelLine::Point PointOf(const UsedMemory& used) {
  const bool is_exact = used.coverage == Coverage::kExact;
  KernelLine::Point point{};
  point[KernelLine::kFootprint] = used.footprint.total_bytes;
  point[KernelLine::kReach] = used.At(WorkingSetLevel::kReach);
  point[KernelLine::kObjects] = is_exact ? used.At(WorkingSetLevel::kObject) : -1;
  return point;
}

constexpr std::array kGroupLevels{WorkingSetLevel::kObject, WorkingSetLevel::kPage,
                                  WorkingSetLevel::kReach};

// The upper bound counts all launches with arguments, other levels only exact ones.
bool CountsAt(const UsedMemory& used, WorkingSetLevel level) {
  return used.At(level) >= 0 &&
         (level == WorkingSetLevel::kReach || used.coverage == Coverage::kExact);
}

// Returns a function that finds the group of a name of one piece; each name is looked up once.
auto GroupFinder(const StringTable& strings, WorkingSetSumsByName& groups,
                 std::string (*group_name)(std::string_view)) {
  return [&strings, &groups, group_name,
          known = std::vector<WorkingSetSums*>(strings.size())](StringId name) mutable -> auto& {
    WorkingSetSums*& sums = known[static_cast<std::size_t>(name)];
    if (sums == nullptr) {
      sums = &groups[group_name(strings.View(name))];
    }
    return *sums;
  };
}

std::vector<WorkingSetGroup> Sorted(const WorkingSetSumsByName& by_name) {
  std::vector<WorkingSetGroup> groups;
  for (const auto& [name, sums] : by_name) {
    WorkingSetGroup& group = groups.emplace_back(sums.group);
    group.name = name;
    group.object_bytes = sums.levels[0].Spread();
    group.page_bytes = sums.levels[1].Spread();
    group.reach_bytes = sums.levels[2].Spread();
  }
  std::ranges::sort(groups, [](const WorkingSetGroup& a, const WorkingSetGroup& b) {
    return std::tie(b.object_bytes.largest, b.reach_bytes.largest, a.name) <
           std::tie(a.object_bytes.largest, a.reach_bytes.largest, b.name);
  });
  return groups;
}

}  // namespace

BytesSpread ValueCounts::Spread() const {
  ValueCounts all = *this;
  all.CountLast();
  Counted counted(all.counts_.begin(), all.counts_.end());
  if (counted.empty()) {
    return {};
  }
  std::ranges::sort(counted);
  BytesSpread spread;
  Sum sum = 0;
  for (const auto& [value, count] : counted) {
    spread.count += count;
    sum += static_cast<Sum>(value) * count;
  }
  spread.smallest = static_cast<double>(counted.front().first);
  spread.mean = static_cast<double>(sum) / static_cast<double>(spread.count);
  spread.median = QuantileOf(counted, spread.count, 0.5);
  spread.p90 = QuantileOf(counted, spread.count, 0.9);
  spread.largest = static_cast<double>(counted.back().first);
  return spread;
}

void KernelLine::Add(const Point& point) {
  ++num_kernels_;
  if (!points_.empty() && num_in_last_ < step_) {
    points_.back() = Largest(points_.back(), point);
    ++num_in_last_;
    return;
  }
  if (points_.size() == kMaxPoints) {
    DoubleStep();
  }
  points_.push_back(point);
  num_in_last_ = 1;
}

// There is an even number of full points.
void KernelLine::DoubleStep() {
  for (std::size_t i = 0; i < points_.size() / 2; ++i) {
    points_[i] = Largest(points_[2 * i], points_[2 * i + 1]);
  }
  points_.resize(points_.size() / 2);
  step_ *= 2;
}

void WorkingSetSums::Add(const UsedMemory& used) {
  ++group.num_launches;
  if (used.coverage == Coverage::kExact) {
    ++group.num_exact;
    group.read_bytes += used.read_bytes;
    group.write_bytes += used.write_bytes;
  }
  for (std::size_t i = 0; i < kGroupLevels.size(); ++i) {
    if (CountsAt(used, kGroupLevels[i])) {
      levels[i].Add(used.At(kGroupLevels[i]));
    }
  }
}

std::optional<double> WorkingSetSummary::MeanByLargest(WorkingSetLevel level) const {
  return Ratio(footprint.mean, At(level).largest);
}

std::optional<double> WorkingSetSummary::MeanByMean(WorkingSetLevel level) const {
  return Ratio(footprint.mean, At(level).mean);
}

void WorkingSet::Add(const trace::Trace& piece) {
  const bool is_first = ++num_pieces_ == 1;
  launches_.clear();
  std::vector<StringId> own_names(is_first ? piece.strings.size() : 0, StringId::kEmpty);
  const RecordedWork work(piece);
  UseWalk walk(work, page_bytes_);
  auto kernel = GroupFinder(piece.strings, by_kernel_, &ShortKernelName);
  auto copy = GroupFinder(piece.strings, by_kernel_,
                          [](std::string_view name) { return std::string(name); });
  auto op = GroupFinder(piece.strings, by_operator_, [](std::string_view name) {
    return std::string(name.empty() ? "no operator" : name);
  });
  work.ForEach([&](const WorkItem& item) {
    const UsedMemory used = walk.Of(item);
    const StringId name = work.NameIdOf(item);
    (used.is_kernel ? kernel(name) : copy(name)).Add(used);
    op(work.OperatorIdOf(item)).Add(used);
    if (used.is_kernel) {
      AddKernel(used);
    }
    if (is_first) {
      StringId& own_name = own_names[static_cast<std::size_t>(name)];
      own_name = own_name == StringId::kEmpty ? names_.Intern(piece.Text(name)) : own_name;
      launches_.push_back({.name = own_name, .used = used});
    }
  });
}

void WorkingSet::AddKernel(const UsedMemory& used) {
  ++sums_.num_kernels;
  footprint_.Add(used.footprint.total_bytes);
  for (std::size_t i = 0; i < kNumFootprintClasses; ++i) {
    class_footprint_[i].Add(used.footprint.class_bytes[i]);
  }
  for (std::size_t i = 0; i < kNumWorkingSetLevels; ++i) {
    if (CountsAt(used, static_cast<WorkingSetLevel>(i))) {
      levels_[i].Add(used.level_bytes[i]);
    }
  }
  if (used.coverage == Coverage::kExact) {
    sums_.read_bytes += used.read_bytes;
    sums_.write_bytes += used.write_bytes;
    sums_.unowned_bytes += used.unowned_bytes;
  }
  line_.Add(PointOf(used));
}

std::vector<WorkingSetGroup> WorkingSet::ByKernel() const {
  return Sorted(by_kernel_);
}

std::vector<WorkingSetGroup> WorkingSet::ByOperator() const {
  return Sorted(by_operator_);
}

WorkingSetSummary WorkingSet::Summary() const {
  WorkingSetSummary summary = sums_;
  summary.footprint = footprint_.Spread();
  for (std::size_t i = 0; i < kNumFootprintClasses; ++i) {
    summary.class_footprint[i] = class_footprint_[i].Spread();
  }
  for (std::size_t i = 0; i < kNumWorkingSetLevels; ++i) {
    summary.levels[i] = levels_[i].Spread();
  }
  return summary;
}

}  // namespace orrery::memory
