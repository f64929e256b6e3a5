#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::calibrate {

/// A measured step time and its prediction.
struct EvaluatedRun {
  workload::PublishedRun run;
  double predicted_s = 0;
  learn::TimeInterval interval = {};
  simulate::StepTraits traits = {};
  std::int64_t memory_bytes = 0;  // of the fullest stage
  std::int64_t allocated_bytes = 0;  // by PyTorch's allocator, on the last stage
  bool fits = true;                  // in the memory of the GPU

  /// (predicted − measured) / measured.
  [[nodiscard]] double Error() const { return predicted_s / run.measured_s - 1; }

  /// The same of the peak of memory; nothing where it was not measured.
  [[nodiscard]] std::optional<double> MemoryError() const {
    const auto measured = run.peak_allocated_bytes;
    return measured ? std::optional(static_cast<double>(allocated_bytes) /
                                        static_cast<double>(*measured) -
                                    1)
                    : std::nullopt;
  }
};

/// Simulates a run. Unspecified settings are chosen as follows and added to its assumptions:
/// - tensor parallelism is doubled within a node until the job fits;
/// - the micro-batch is doubled up to 8 samples while it fits and gains 5 % of the time, and stays
/// 1
///   where experts make memory uncertain;
/// - everything is recomputed where nothing less would nearly fit.
[[nodiscard]] Result<EvaluatedRun> EvaluateRun(workload::PublishedRun run,
                                               const kernel::CostModel& costs,
                                               const simulate::SimulationOptions& options = {});

/// A row that was not simulated, and why.
struct RefusedRun {
  workload::RunLabel label;
  std::string reason;
};

struct Validation {
  std::size_t rows = 0;  // that were asked for
  std::vector<EvaluatedRun> evaluated;
  std::vector<RefusedRun> refused;
};

/// Chooses the rows to evaluate.
using LabelFilter = std::function<bool(const workload::RunLabel& label)>;

/// A last change to the job of a row before it is simulated: another framework, another network.
using JobChange = std::function<void(const workload::RunLabel& label, workload::Job& job)>;

/// The intervals that a row is evaluated with.
using IntervalChoice =
    std::function<const simulate::StepIntervals&(const workload::RunLabel& label)>;

struct ValidateOptions {
  LabelFilter filter = {};  // all rows when there is none
  JobChange change = {};
  IntervalChoice intervals = {};  // the shipped ones when there is none
  simulate::SimulationOptions engine = {};
  /// Constants of collectives by row, which must outlive the call; none: those of `engine`.
  std::function<const collective::MachineModels*(const workload::RunLabel& label)> collectives = {};
  int threads = 0;                                                         // 0: one for each core
  std::function<void(std::size_t done, std::size_t total)> progress = {};  // from any thread
};

/// Simulates the rows of a table of measured runs, in parallel; results are in the order of the
/// table.
[[nodiscard]] Validation Validate(const workload::RunTable& table, const kernel::CostModel& costs,
                                  const ValidateOptions& options = {});

/// The same where a dealer says who simulates a row; options.threads does not count. On processes
/// other than the root it serves until the root has ended and returns no rows.
[[nodiscard]] Result<Validation> Validate(const workload::RunTable& table,
                                          const kernel::CostModel& costs,
                                          const ValidateOptions& options, WorkDealer& dealer);

/// Errors of predictions, in percent of the measured time. Without simulated rows the errors are
/// NaN.
struct ErrorFigures {
  std::size_t rows = 0;
  std::size_t simulated = 0;
  double mape = 0;      // mean |error|
  double median = 0;    // of |error|
  double max = 0;       // of |error|
  double bias = 0;      // mean error, with its sign
  double coverage = 0;  // rows whose measured time is in the predicted interval, percent

  bool operator==(const ErrorFigures&) const = default;
};

struct ErrorGroup {
  std::string name;
  ErrorFigures figures;
};

/// Errors of predicted peaks of memory, in percent of the measured ones.
struct MemoryFigures {
  std::size_t rows = 0;  // simulated ones with a measured peak
  double mape = 0;
  double median = 0;
  double max = 0;
  double bias = 0;
};

/// The property by which rows are grouped. Rows that were refused count where their table tells the
/// group, by source, team, stack, release and grade; elsewhere groups hold simulated rows only.
enum class GroupKey : std::uint8_t {
  kSource,
  kTeam,
  kStack,
  kRelease,
  kGrade,
  kGpu,
  kScale,      // bands of the number of GPUs
  kDimension,  // of parallelism; a run that uses several is in several groups
};

[[nodiscard]] ErrorFigures FiguresOf(const Validation& validation);

/// Groups in the order in which they first occur; scales and dimensions in their own order.
[[nodiscard]] std::vector<ErrorGroup> GroupsOf(const Validation& validation, GroupKey key);

[[nodiscard]] MemoryFigures MemoryFiguresOf(const Validation& validation);

/// The same by GPU, in the order of GroupsOf; GPUs without a measured peak are left out.
[[nodiscard]] std::vector<std::pair<std::string, MemoryFigures>> MemoryByGpu(
    const Validation& validation);

/// Runs with the largest |error|, worst first.
[[nodiscard]] std::vector<const EvaluatedRun*> WorstRuns(const Validation& validation,
                                                         std::size_t count);

/// A reason for which rows were refused, with the first of them.
struct RefusalGroup {
  std::string reason;
  std::size_t rows = 0;
  std::string first_id;
};

/// Most frequent first.
[[nodiscard]] std::vector<RefusalGroup> RefusalsOf(const Validation& validation);

}  // namespace orrery::calibrate
