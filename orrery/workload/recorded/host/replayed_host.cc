#include "orrery/workload/recorded/host/replayed_host.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_pace.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {
namespace {

// The least share of a cost that remains without the profiler's.
constexpr double kLeastShare = 0.1;

// More than code between two operators takes.
constexpr double kLongNs = 1'000'000;

double ShareOf(HostPart part, const ProfilerShares& shares) {
  switch (part) {
    case HostPart::kWhole:
      return shares.whole_ns;
    case HostPart::kStart:
      return shares.start_ns;
    case HostPart::kBetween:
      return shares.between_ns;
    case HostPart::kEnd:
      return shares.end_ns;
    default:
      return 0;
  }
}

/// Bounds the costs of the model by those of the recording, and adds those of operators without a
/// name in the model that are the program's own, or take long.
HostModel ModelWithin(const HostModel& recorded, const ProfilerShares& shares,
                      const HostModel& model) {
  HostModel adapted = model;
  for (const auto& [key, most] : recorded.entries()) {
    const auto& [part, name] = key;
    if (!DependsOnHost(part) || name.starts_with(HostModel::kAll)) {
      continue;
    }
    const HostCost* const known = model.Find(part, name);
    if (known == nullptr && most.typical < kLongNs &&
        (!IsOfProgram(name) || IsLaunchName(name) || IsCompiledKernel(name))) {
      continue;
    }
    HostCost cost = known != nullptr ? *known : most;
    if (known == nullptr) {
      cost.is_of_recording = true;
      cost.typical = std::max(most.typical - ShareOf(part, shares), kLeastShare * most.typical);
    }
    cost.typical = std::min(cost.typical, most.typical);
    adapted.Set(part, name, cost);
  }
  return adapted;
}

/// Visits the program's own times below `most_ns`.
template <typename Costs, typename Visit>
void ForEachTime(Costs& costs, double most_ns, Visit&& visit) {
  for (auto& thread : costs.threads) {
    for (auto* const column : {&thread.before_ns, &thread.own_ns}) {
      for (auto& cost_ns : *column) {
        if (cost_ns != ThreadCosts::kByModel && cost_ns < most_ns) {
          visit(cost_ns);
        }
      }
    }
  }
}

void Scale(double factor, double most_ns, StepCosts& costs) {
  ForEachTime(costs, most_ns, [&](double& cost_ns) { cost_ns *= factor; });
}

}  // namespace

ReplayedHost HostOfRecording(const trace::Trace& recording, std::span<const CallTree> steps,
                             std::size_t which, const HostChoice& choice) {
  HostFit fit;
  fit.Add(recording, steps);
  const HostModel recorded = fit.Fit({});
  ReplayedHost host{.pace = PaceOf(recorded, choice.model)};
  const double own = host.pace.ratio;
  const HostPace pace =
      choice.pace.value_or(HostPace{.operators = own, .program = own, .launches = own});
  host.model = ModelWithin(recorded, host.pace.profiler, AtPace(choice.model, pace));
  // The share between two calls is that behind the first and before the second.
  const double events = 2 * ProfilerShareOf(CallKind::kOperator).before;
  host.program =
      RecordedHost(recording, steps, which).OfProgram(host.pace.profiler.between_ns / events);
  Scale(pace.program / own, std::numeric_limits<double>::infinity(), host.program);
  return host;
}

double CodeNs(const StepCosts& program) {
  double total_ns = 0;
  ForEachTime(program, kLongNs, [&](double cost_ns) { total_ns += cost_ns; });
  return total_ns;
}

void ScaleCode(double factor, StepCosts& program) {
  Scale(factor, kLongNs, program);
}

}  // namespace orrery::workload
