#include "orrery/memory/recorded_work.h"

#include <algorithm>
#include <numeric>

namespace orrery::memory {
namespace {


StringId IdOfRow(const std::vector<StringId>& names, RowId row) {
  return row == kNoRow ? StringId::kEmpty : names[row];
}

}  // namespace

RowsByActivity::RowsByActivity(std::span<const RowId> activity_of_row, std::size_t num_activities)
    : first_(num_activities + 1, 0) {
  for (const RowId activity : activity_of_row) {
    if (activity != kNoRow) {
      ++first_[activity + 1];
    }
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  rows_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (RowId row = 0; row < activity_of_row.size(); ++row) {
    if (activity_of_row[row] != kNoRow) {
      rows_[next[activity_of_row[row]]++] = row;
    }
  }
}

RecordedWork::RecordedWork(const trace::Trace& trace)
    : trace_(&trace),
      touches_(trace.touches.activity, trace.activities.size()),
      page_runs_(trace.page_runs.activity, trace.activities.size()),
      accesses_(trace.accesses.activity, trace.activities.size()) {}

WorkItem RecordedWork::At(std::size_t index) const {
  WorkItem item;
  const auto row = static_cast<RowId>(index);
  if (HasObservations()) {
    item.observation = row;
    item.activity = trace_->observations.activity[row];
    item.order = trace_->observations.order[row];
    item.coverage = trace_->observations.coverage[row];
  } else {
    item.activity = row;
    item.order = static_cast<std::int64_t>(row);
  }
  if (item.activity != kNoRow) {
    item.touches = touches_.Of(item.activity);
    item.page_runs = page_runs_.Of(item.activity);
    item.accesses = accesses_.Of(item.activity);
  }
  return item;
}

std::string_view RecordedWork::NameOf(const WorkItem& item) const {
  return trace_->Text(NameIdOf(item));
}

StringId RecordedWork::NameIdOf(const WorkItem& item) const {
  return IdOfRow(trace_->activities.name, item.activity);
}

std::string_view RecordedWork::OperatorOf(const WorkItem& item) const {
  return trace_->Text(OperatorIdOf(item));
}

StringId RecordedWork::OperatorIdOf(const WorkItem& item) const {
  return item.activity == kNoRow
             ? StringId::kEmpty
             : IdOfRow(trace_->host_ops.name, trace_->activities.host_op[item.activity]);
}

std::int32_t RecordedWork::DeviceOf(const WorkItem& item) const {
  const RowId track = item.activity == kNoRow ? kNoRow : trace_->activities.track[item.activity];
  return track == kNoRow ? -1 : trace_->tracks.device[track];
}

std::vector<RowId> RecordedWork::CountedObjects(const WorkItem& item) const {
  return Objects(item, true);
}

std::vector<RowId> RecordedWork::ReachableObjects(const WorkItem& item) const {
  return Objects(item, false);
}

std::vector<RowId> RecordedWork::Objects(const WorkItem& item, bool counted) const {
  std::vector<RowId> objects;
  for (const RowId touch : item.touches) {
    if (trace_->touches.object[touch] != kNoRow && IsCounted(touch) == counted) {
      objects.push_back(trace_->touches.object[touch]);
    }
  }
  std::ranges::sort(objects);
  objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
  return objects;
}

}  // namespace orrery::memory
