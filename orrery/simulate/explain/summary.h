#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Delays that kernels of one rank class cause each other in a step.
struct DelayTotals {
  std::int64_t kernels = 0;           // that compute and took longer than alone
  std::int64_t kernels_alone_ps = 0;  // the same kernels alone
  std::int64_t kernels_ps = 0;        // the same kernels in the step
  std::int64_t transfers = 0;         // that took longer than alone, or began later
  std::int64_t transfers_alone_ps = 0;
  std::int64_t transfers_ps = 0;
  std::int64_t delayed_ps = 0;  // until kernels of both kinds had room
};

[[nodiscard]] DelayTotals DelayTotalsOf(const Timeline& timeline, RankClassId rank_class);

/// The part of the peak of a job's GPUs that a step uses.
struct Utilisation {
  double flops = 0;               // of a step, all GPUs
  double flops_per_s_of_gpu = 0;  // the mean over GPUs
  double share = 0;               // of the dense peak; 0 where the GPU's peak is not known
  std::string definition;

  bool operator==(const Utilisation&) const = default;
};

/// Utilisation by the FLOPs that the model needs, however it is computed: no recomputation, the
/// whole square of attention (MFU).
[[nodiscard]] Utilisation ModelUtilisation(const workload::Job& job, std::int64_t step_ps);

/// The same count and what is recomputed (HFU): never below the model's. What a flash kernel leaves
/// out of the masked half, or rebuilds on the chip, changes neither.
[[nodiscard]] Utilisation HardwareUtilisation(const workload::Job& job, std::int64_t step_ps);

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
  std::string gpu = {};      // if ranks of the job have different ones
  std::string name = {};     // "stage 0"; "rank 0 of 64" without a pipeline
  std::int64_t busy_ps = 0;  // BusyPs of that rank

  /// "stage 0", or "stage 0, A100-80GB" where GPUs differ.
  [[nodiscard]] std::string Label() const;

  /// The same for a narrow place: a rank without the number of ranks.
  [[nodiscard]] std::string ShortLabel() const;
};

/// Throughput and utilisation of a job.
struct JobFigures {
  double samples_per_s = 0;
  std::optional<double> tokens_per_s = {};   // of models that read tokens
  std::optional<Utilisation> model = {};     // if its operations are known
  std::optional<Utilisation> hardware = {};  // if the executed operations are known
};

/// The results of a simulated step.
struct StepSummary {
  std::int64_t step_ps = 0;
  std::int64_t events = 0;  // of rank classes; what is folded is not counted again
  std::uint32_t ranks = 0;
  std::uint32_t rank_classes = 0;
  workload::Rank slowest_rank = 0;  // with most work of its own (BusyPs): the others wait for it
  Breakdown breakdown;              // of that rank
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

  /// It fits, but some stage needs more than kSafeMemoryShare of it. Not where memory was recorded:
  /// that job ran.
  [[nodiscard]] bool IsNearlyOutOfMemory() const;
};

/// The extent of a summary; the breakdown, the time that ranks lose to each other and stages' work
/// take as long as a third of the simulation.
enum class SummaryDetail : std::uint8_t { kAll, kStepOnly };

[[nodiscard]] StepSummary Summarize(const SimulatedStep& simulated,
                                    SummaryDetail detail = SummaryDetail::kAll);

/// Says what programs without a job need of memory, where that is known otherwise: one entry for
/// each program.
void SetMemory(const RankClasses& rank_classes, std::span<const StageMemory> memory_of_program,
               StepSummary& summary);

/// The slowest stage of a pipeline, which bounds the step.
struct BindingStage {
  std::string label;
  std::int64_t busy_ps = 0;
  std::int64_t others_ps = 0;  // the mean of the other stages

  /// The time beyond the mean of all stages: the most that a step gains if all have as much to do.
  std::int64_t excess_ps = 0;
};

/// Compares the stages of a step, each by the slowest of those that run it; none where there are no
/// two of them.
[[nodiscard]] std::optional<BindingStage> BindingStageOf(const StepSummary& summary);

/// The time that a step loses to one cause: its time on the slowest rank, as the breakdown has it.
/// Waiting for late ranks and moving data are two things.
using Loss = TimeShare;

/// All but compute, the largest first.
[[nodiscard]] std::vector<Loss> LossesOf(const Breakdown& breakdown);

/// At least 3 % of the step.
[[nodiscard]] bool IsWorthAWord(std::int64_t ps, std::int64_t step_ps);

}  // namespace orrery::simulate
