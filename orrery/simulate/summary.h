#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/simulate/breakdown.h"
#include "orrery/simulate/rank_classes.h"
#include "orrery/simulate/dimension_totals.h"
#include "orrery/simulate/delay_totals.h"
#include "orrery/simulate/memory_answer.h"
#include "orrery/simulate/engine.h"
#include "orrery/simulate/utilisation.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// A step that was simulated, and the job that it belongs to. Programs of other tools have no job.
/// All must outlive it.
struct SimulatedStep {
  const RankClasses* rank_classes = nullptr;
  const Timeline* timeline = nullptr;
  const workload::Job* job = nullptr;
};

/// One stage of the pipeline, or one program of those that ranks run: its slowest rank.
struct StageSummary {
  std::optional<std::uint32_t> stage = {};  // of the pipeline; none without one
  RankClassId rank_class = 0;
  workload::Rank rank = 0;
  std::uint32_t ranks = 1;   // that run the program
  StageMemory memory;        // of programs of other tools: nothing
  std::string gpu = {};      // where ranks of the job have different ones
  std::string name = {};     // "stage 0"; "rank 0 of 64" without a pipeline
  std::int64_t busy_ps = 0;  // BusyPs of a stage

  /// "stage 0", or "stage 0, A100-80GB" where GPUs differ.
  [[nodiscard]] std::string Label() const;

  /// The same for a narrow place: a rank without the number of ranks.
  [[nodiscard]] std::string ShortLabel() const;
};

/// What a job does in a second, and how well.
struct JobFigures {
  double samples_per_s = 0;
  std::optional<double> tokens_per_s = {};   // of models that read tokens
  std::optional<Utilisation> model = {};     // where its operations are known
  std::optional<Utilisation> hardware = {};  // where it is known how they are executed
};

/// What is said of a step.
struct StepSummary {
  std::int64_t step_ps = 0;
  std::int64_t events = 0;  // of rank classes; what is folded is not counted again
  std::uint32_t ranks = 0;
  std::uint32_t rank_classes = 0;
  workload::Rank slowest_rank = 0;
  Breakdown breakdown;  // of that rank
  std::vector<DimensionTotal> dimensions;
  DelayTotals delayed;  // of that rank
  bool has_pipeline = false;
  std::vector<StageSummary> stages;
  bool is_memory_recorded = false;                     // not derived from what tasks take
  std::optional<std::int64_t> memory_size_bytes = {};  // that a job can use of a GPU: the fullest
  std::optional<JobFigures> figures = {};

  /// The stage that has the least memory left; none where programs do not say what they need.
  [[nodiscard]] const StageSummary* Fullest() const;

  /// Some stage needs more than its GPU has.
  [[nodiscard]] bool IsOutOfMemory() const;
};

[[nodiscard]] StepSummary Summarize(const SimulatedStep& simulated);

/// Says what programs without a job need of memory, where that is known otherwise: one entry for
/// each program.
void SetMemory(const RankClasses& rank_classes, std::span<const StageMemory> memory_of_program,
               StepSummary& summary);

}  // namespace orrery::simulate
