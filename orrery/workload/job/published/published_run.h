#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A measured and published training run, described as a job.
struct PublishedRun {
  std::string id;
  std::string source;
  std::string team = {};     // that measured it
  std::string stack = {};    // whose training code it ran
  std::string release = {};  // of the software
  std::string grade;         // "A", "A-", "B+", …: how much of it is stated
  double measured_s = 0;
  std::string derived_from = {};           // source of the time; empty where it was published
  std::optional<double> mfu_percent = {};  // as published, by the source's own count of FLOPs
  // The most that PyTorch's allocator gave out at one time on the rank that writes the log:
  // Megatron's last one.
  std::optional<std::int64_t> peak_allocated_bytes = {};
  Job job;
  // Values that the row does not state, for which memory and time of candidates decide: nothing is
  // recomputed, one sample is a micro-batch, tensors are cut as little as the batch allows.
  bool recompute_is_open = false;
  bool micro_batch_is_open = false;
  bool tensor_is_open = false;
  std::vector<std::string> assumptions = {};  // values that the row does not state, and defaults
};

/// Reads one row of a table of published runs (the columns of docs/formats/published-runs.md).
/// What cannot be described is an error that gives the reason.
[[nodiscard]] Result<PublishedRun> ReadPublishedRun(const Table& table, std::size_t row);

/// Doubles tensor parallelism within a node at the cost of data parallelism. False, and nothing
/// happens, where the GPUs do not allow it.
[[nodiscard]] bool CutTensorsFurther(Job& job);

/// Fails unless the table has the columns that ReadPublishedRun needs.
[[nodiscard]] Status CheckPublishedColumns(const Table& table);

}  // namespace orrery::workload
