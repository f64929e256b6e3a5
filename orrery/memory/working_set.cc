#include "orrery/memory/working_set.h"

#include "orrery/memory/kernel_name.h"
#include "orrery/memory/recorded_work.h"

namespace orrery::memory {
namespace {

using trace::Coverage;

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

std::string FullName(std::string_view name) {
  return std::string(name);
}

std::string OperatorName(std::string_view name) {
  return std::string(name.empty() ? "no operator" : name);
}

}  // namespace

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
  GroupsOfPiece kernels(piece.strings, by_kernel_, &ShortKernelName);
  GroupsOfPiece moves(piece.strings, by_kernel_, &FullName);
  GroupsOfPiece operators(piece.strings, by_operator_, &OperatorName);
  work.ForEach([&](const WorkItem& item) {
    const UsedMemory used = walk.Of(item);
    const StringId name = work.NameIdOf(item);
    (used.is_kernel ? kernels : moves).Of(name).Add(used);
    operators.Of(work.OperatorIdOf(item)).Add(used);
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
