#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// A job that was simulated again with one change.
struct TriedChange {
  std::string what;            // "sequence parallelism"; of causes "rank 7 takes 1.3 times …"
  std::string setting = {};    // "plan.sequence_parallel=true"; causes have none
  bool changes_batch = false;  // the gain is that of a sample, not of a step
  std::int64_t step_ps = 0;
  double gain = 0;  // share of the time of a sample that is saved; below 0: lost
  // The 80 % interval of the gain, where one is known.
  std::optional<double> least_gain = {};
  std::optional<double> most_gain = {};
  bool fits = true;  // into memory

  /// It fits and saves at least 1 %: less is not worth a recommendation.
  [[nodiscard]] bool IsWorthwhile() const;
};

/// The changes that were tried for a step, best first.
struct Advice {
  std::vector<TriedChange> causes;   // slow ranks, other GPUs and faults, each repaired
  std::vector<TriedChange> changes;  // of plan, training, framework or network
};

struct VariantStep {
  std::int64_t step_ps = 0;
  bool fits = true;
  std::optional<Breakdown> breakdown = {};  // of its slowest rank, where its job was generated
};

/// Simulates a changed job; several threads call it.
using SimulateVariant =
    std::function<Result<VariantStep>(const workload::Job&, const SimulationOptions&)>;

/// Parts of a job that can be changed.
enum class JobScope : std::uint8_t {
  kWhole,    // all: its programs are generated
  kMachine,  // cluster and faults: its programs were recorded
};

/// Simulates what would shrink the largest losses of a step, at most eight changes (three of a job
/// of more than a million events), and the step without each thing in which it differs from a job
/// of equal ranks and a healthy network. What is on already, what the job cannot do and what fails
/// is not tried.
[[nodiscard]] Advice TryChanges(const workload::Job& job, const SimulationOptions& options,
                                const StepSummary& summary, JobScope scope,
                                const SimulateVariant& simulate);

/// One sentence for each worthwhile change with its gain, then one for those without a gain.
[[nodiscard]] std::vector<std::string> AdviceSentences(const Advice& advice);

/// Names what differs from a healthy job and costs at least 1 % of the step; empty where nothing
/// does.
[[nodiscard]] std::string CauseSentence(const Advice& advice);

/// Says what binds the step: a cause that costs at least 1 % of it first, then what it waits for
/// most. A job that does not fit into memory has no other bottleneck.
[[nodiscard]] std::string BottleneckSentence(const StepSummary& summary, const Advice& advice = {});

}  // namespace orrery::simulate
