#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/text/table.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {

/// The out-of-place or in-place half of a row. Bandwidths are in GB/s (10^9), as printed.
struct Timing {
  std::optional<double> time_us;
  std::optional<double> cpu_time_us;
  std::optional<double> algbw;
  std::optional<double> busbw;
  std::optional<double> wrong;  // wrong elements; old versions print the largest error
  std::optional<double> bit_differences;
  std::optional<double> iteration_min_us;
  std::optional<double> iteration_max_us;
  std::optional<double> iteration_p99_us;
  std::optional<double> iteration_cv_percent;

  bool operator==(const Timing&) const = default;
};

using TimingField = std::optional<double> Timing::*;

enum Placement : std::size_t { kOutOfPlace, kInPlace };

struct Row {
  std::int64_t size_bytes = 0;
  std::int64_t count = 0;
  std::string data_type;
  std::string redop;
  std::optional<std::int64_t> root;  // -1: the test has none
  std::array<Timing, 2> timing;      // by Placement
  std::string timestamp;
};

struct Device {
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::string host;
  std::string gpu;
};

/// One execution of a test program: what its header says, and its rows.
struct Run {
  std::string test;  // "all_reduce"; empty: unknown
  std::string tests_version;
  std::string nccl_version;
  std::optional<std::int64_t> num_ranks;
  std::optional<std::int64_t> threads;
  std::optional<std::int64_t> gpus_per_thread;
  std::optional<std::int64_t> warmup_iters;
  std::optional<std::int64_t> iters;
  std::optional<std::int64_t> aggregated_iters;
  std::optional<std::int64_t> graph_launches;
  std::optional<double> mean_busbw;
  std::vector<Device> devices;
  std::vector<Row> rows;
};

/// Returns the size of an element of NCCL's type name ("float", "bfloat16"), or nothing.
[[nodiscard]] std::optional<std::int64_t> ElementBytes(std::string_view type);

/// Returns the collective of a program name: "all_reduce" for "/opt/bin/all_reduce_perf".
[[nodiscard]] std::string TestOfProgram(std::string_view program);

/// Returns "2.29.3" for 22903, "2.7.8" for 2708.
[[nodiscard]] std::string VersionOfCode(std::int64_t code);

/// Infers the number of ranks, and the test when no line named it.
void CompleteRun(Run& run, trace::ProblemLog& problems);

/// Returns all rows as one table, with the header's fields repeated in each. Columns that only some
/// versions print are there if a row has them.
[[nodiscard]] Table ToTable(const std::vector<Run>& runs);

/// Returns whether nccl-tests has a program for this collective.
[[nodiscard]] bool IsKnownTest(std::string_view test);

struct Inferred {
  std::string test;                       // empty: several would fit
  std::optional<std::int64_t> num_ranks;  // nothing: several would fit
};

/// Finds out which collective a run measured, and on how many ranks, from what its rows must
/// satisfy: busbw / algbw is 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter,
/// all-to-all, gather and scatter, and 1 for the others; only some reduce; only some have a root.
/// Known values of the run are kept.
[[nodiscard]] Inferred InferRun(const Run& run);

}  // namespace orrery::ingest::nccl_tests
