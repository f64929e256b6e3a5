#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A bucket of gradients of a stage, and the units that fill it.
struct StageBucket {
  bool is_of_experts = false;
  std::int64_t elements = 0;
  std::vector<std::size_t> units = {};  // numbered through all chunks, each once
};

/// Adds the communication of data-parallel ranks to a program: gradient buckets and gathers of
/// sharded parameters, according to the plan's sharding and the framework's overlap.
class DataParallelCommunication {
 public:
  DataParallelCommunication(const Job& job, const StageTensors& tensors, ProgramWriter& writer);

  struct Place {
    std::size_t chunk = 0;
    std::size_t unit = 0;
  };

  /// Before the first pass: gathers parameters while the first micro-batch runs.
  void BeginStep();

  void BeforeForward(const Place& place, bool is_first_pass);
  void AfterForward(const Place& place);
  void BeforeBackward(const Place& place);

  /// `is_last_pass`: no further micro-batch of this step runs through the unit.
  void AfterBackward(const Place& place, bool is_last_pass);

  /// After the last pass: the next computation waits for all gradients.
  void FinishGradients();

  /// After the optimizer: sharded parameters are gathered, unless the next step does it.
  void GatherParameters();

 private:
  [[nodiscard]] bool shards_parameters() const;

  /// ZeRO-2: no rank can accumulate unsharded gradients over micro-batches, so each micro-batch is
  /// reduced.
  [[nodiscard]] bool shards_gradients() const { return job_.plan.sharding == Sharding::kGradients; }

  [[nodiscard]] std::size_t NumberOf(const Place& place) const {
    return first_of_chunk_[place.chunk] + place.unit;
  }

  TaskId Write(std::string_view name, const Communication& communication, Phase phase,
               TaskId after);
  TaskId Reduce(std::int64_t elements, bool of_experts);
  TaskId Gather(std::int64_t elements, bool of_experts, TaskId after);
  TaskId GatherUnit(const Place& place);
  void DropUnit(const Place& place);
  void ReduceUnit(const Place& place);
  [[nodiscard]] std::int64_t GatheredBytesOf(const Place& place) const;
  void GatherAhead(const Place& place, bool is_forward);
  void ReduceReadyBuckets();
  void ReduceBucket(const StageBucket& bucket);

  const Job& job_;
  StageTensors tensors_;
  ProgramWriter& writer_;
  std::vector<std::size_t> first_of_chunk_;  // number of its first unit
  std::vector<StageBucket> buckets_;
  std::vector<int> passes_done_;                    // by unit: how often gradients were complete
  int rounds_ = 0;                                  // how often all buckets were sent
  std::size_t next_bucket_ = 0;                     // the first one that is not sent yet
  std::vector<TaskId> reductions_;                  // not waited for yet
  std::vector<TaskId> gather_of_unit_;              // the last one that was issued
  std::vector<std::vector<TaskId>> early_gathers_;  // by unit, for the first pass
};

}  // namespace orrery::workload
