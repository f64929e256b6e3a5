#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/generate/stage_units.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Keeps parameters and gradients of data-parallel ranks together: buckets of gradients, gathers of
/// sharded parameters, as the plan shards and as the framework overlaps. Told what the program
/// does, it adds the exchanges.
class DataExchange {
 public:
  DataExchange(const Job& job, const StageUnits& units, ProgramWriter& writer);

  struct Place {
    std::size_t chunk = 0;
    std::size_t unit = 0;
  };

  /// Before the first pass: parameters that come back while the first micro-batch runs.
  void BeginStep();

  void BeforeForward(const Place& place, bool is_first_pass);
  void BeforeBackward(const Place& place);

  /// `is_last_pass`: no further micro-batch of this step runs through the unit.
  void AfterBackward(const Place& place, bool is_last_pass);

  /// After the last pass: what is still to be reduced; the next computation waits for all of it.
  void FinishGradients();

  /// After the optimizer: sharded parameters are gathered, unless the next step does it.
  void GatherParameters();

 private:
  [[nodiscard]] bool shards_parameters() const;
  [[nodiscard]] bool reduces_buckets() const;
  [[nodiscard]] const StageUnit& At(const Place& place) const {
    return units_[place.chunk][place.unit];
  }

  TaskId Exchange(std::string_view name, Slot slot, collective::CollectiveKind kind,
                  std::int64_t bytes, Phase phase, TaskId after);
  TaskId Reduce(const LocalParameters& parameters, TaskId after);
  TaskId Gather(const LocalParameters& parameters, TaskId after);
  void GatherAhead(const Place& place, bool is_forward);
  void FlushBucket();

  const Job& job_;
  const StageUnits& units_;
  ProgramWriter& writer_;
  std::int64_t bucket_bytes_ = 0;  // least bytes that close a bucket; 0: only the end does
  bool is_first_bucket_ = true;
  LocalParameters open_;                            // gradients of the open bucket
  std::vector<TaskId> reductions_;                  // not waited for yet
  std::vector<std::vector<TaskId>> gather_of_;      // by chunk and unit: the last one that was issued
  std::vector<std::vector<TaskId>> early_gather_;   // for the first pass
};

}  // namespace orrery::workload
