#include "orrery/workload/recorded/host/host_pace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/workload/embedded_profiled.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::workload {
namespace {

// Operators that take less than this do next to nothing.
constexpr double kLittleNs = 1'000;

// The time before a launch counts where it is clearly more than a profiler's share.
constexpr double kMuchNs = 4'000;

// A profiler takes a microsecond inside an operator, an observer of execution traces ten.
constexpr double kLeastOfObserverNs = 4'000;

// Fewer names tell nothing about a machine.
constexpr std::int64_t kFewestOperators = 5;

using Weighted = std::vector<std::pair<double, double>>;  // value, weight

/// The relation of recordings of one kind to steps without a profiler.
struct ProfiledKind {
  double under_profiler = 1;  // the usual ratio on hosts of the model's pace
  double power = 1;           // of the ratio over the usual one
  double program = 1;         // power of the program's own times over those of the model
};

/// The row of data/host/profiled.csv.
ProfiledKind KindOfRecordings(bool has_observer) {
  static const Table kTable = [] {
    Result<Table> table = ParseCsv(kEmbeddedProfiled);
    ORRERY_CHECK(table.has_value(), table ? "" : table.error().message());
    return *std::move(table);
  }();
  const std::string_view wanted = has_observer ? "execution trace" : "profiler";
  for (std::size_t row = 0; row < kTable.num_rows(); ++row) {
    if (kTable.Text(row, "observer") == wanted) {
      return {kTable.Number(row, "under_profiler").value_or(1),
              kTable.Number(row, "power").value_or(1), kTable.Number(row, "program").value_or(1)};
    }
  }
  return {};
}

double PaceOfPart(HostPart part, const HostPace& pace) {
  switch (part) {
    case HostPart::kGap:
    case HostPart::kGapInList:
    case HostPart::kRest:
    case HostPart::kRestInList:
    case HostPart::kRecompute:
      return pace.program;
    case HostPart::kLaunch:
    case HostPart::kSynchronize:
      return pace.launches;
    default:
      return DependsOnHost(part) ? pace.operators : 1;
  }
}

bool IsZero(const HostModel& recorded, HostPart part, const std::string& name) {
  const HostCost* const count = recorded.Find(part, name);
  return count != nullptr && count->typical == 0;
}

double ShareAt(HostPart wanted, const HostModel& recorded, const HostModel& model) {
  Weighted shares;
  for (const auto& [key, cost] : recorded.entries()) {
    const auto& [part, name] = key;
    const HostCost* const known = part == wanted ? model.Find(part, name) : nullptr;
    if (known != nullptr && known->typical < kLittleNs &&
        IsZero(recorded, HostPart::kLaunches, name) && IsZero(recorded, HostPart::kWaits, name)) {
      shares.emplace_back(std::max(0.0, cost.typical - known->typical),
                          static_cast<double>(cost.count));
    }
  }
  return shares.empty() ? 0 : WeightedMedian(std::move(shares));
}

}  // namespace

HostModel AtPace(const HostModel& model, const HostPace& pace) {
  HostModel scaled = model;
  for (const auto& [key, cost] : model.entries()) {
    HostCost at_pace = cost;
    const double factor = PaceOfPart(key.first, pace);
    at_pace.typical *= factor;
    at_pace.mean *= factor;
    for (double& quantile : at_pace.quantiles) {
      quantile *= factor;
    }
    scaled.Set(key.first, key.second, at_pace);
  }
  return scaled;
}

void ScaleHost(const HostPace& factors, Program& program) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] != LaneKind::kHostThread) {
      continue;
    }
    const CallId call = program.tasks.call[task];
    const bool is_of_program = call == kNone || program.calls.is_annotation[call] != 0;
    const double factor = program.tasks.kind[task] != TaskKind::kHost ? factors.launches
                          : is_of_program                             ? factors.program
                                                                      : factors.operators;
    program.tasks.duration_ps[task] =
        std::llround(static_cast<double>(program.tasks.duration_ps[task]) * factor);
  }
}

RecordedPace PaceOf(const HostModel& recorded, const HostModel& model) {
  RecordedPace found{.profiler = {.whole_ns = ShareAt(HostPart::kWhole, recorded, model),
                                  .start_ns = ShareAt(HostPart::kStart, recorded, model),
                                  .between_ns = ShareAt(HostPart::kBetween, recorded, model),
                                  .end_ns = ShareAt(HostPart::kEnd, recorded, model)}};
  found.has_observer = found.profiler.whole_ns > kLeastOfObserverNs;
  // A call's own share before it is half of what is between two.
  const double at_begin_ns = std::max(0.0, found.profiler.start_ns - found.profiler.between_ns / 2);
  const double of_launch_ns = model.profiler_cost_ns * ProfilerShareOf(CallKind::kLaunch).inside;
  Weighted ratios;
  std::set<std::string> names;
  for (const auto& [key, cost] : recorded.entries()) {
    const auto& [part, name] = key;
    const bool is_launch = part == HostPart::kLaunch && !IsLaunchName(name);
    const bool is_start =
        part == HostPart::kStart && recorded.Find(HostPart::kLaunch, name) != nullptr;
    const HostCost* const known = is_launch || is_start ? model.Find(part, name) : nullptr;
    if (known != nullptr && known->typical >= kMuchNs) {
      const double without_ns = cost.typical - (is_launch ? of_launch_ns : at_begin_ns);
      ratios.emplace_back(std::max(0.0, without_ns) / known->typical,
                          known->typical * static_cast<double>(cost.count));
      names.insert(name);
    }
  }
  const ProfiledKind kind = KindOfRecordings(found.has_observer);
  found.program_power = kind.program;
  if (std::ssize(names) < kFewestOperators) {
    return found;
  }
  found.operators = std::ssize(names);
  found.under_profiler = WeightedMedian(std::move(ratios));
  found.ratio = std::pow(found.under_profiler / kind.under_profiler, kind.power);
  return found;
}

}  // namespace orrery::workload
