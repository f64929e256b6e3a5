#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::calibrate {

/// Logged step times of one system and benchmark, in records of equally many steps.
struct RecordedSteps {
  std::string system;  // "SUBMITTER/…"
  std::string benchmark = {};
  std::string gpu = {};
  int gpus = 0;
  int window_steps = 1;  // whose mean a record is
  /// Seconds of a step by run, in the order of its steps; without its beginning and end.
  std::vector<std::vector<double>> runs = {};

  [[nodiscard]] std::string submitter() const;
  [[nodiscard]] std::size_t num_records() const;

  /// The median of the runs' medians, in seconds.
  [[nodiscard]] double MedianStep() const;

  /// All records, or means of `block` of them in a row, relative to the median of these of their
  /// run.
  [[nodiscard]] std::vector<double> Relative(std::size_t block = 1) const;
};

struct RecordedStepTable {
  std::vector<RecordedSteps> groups;  // by system, benchmark and window
  std::size_t records = 0;            // of the table
  std::size_t in_warm_up = 0;         // of which: at the beginning of a run
  std::size_t at_the_end = 0;         // the last ones of runs
  std::size_t in_small_groups = 0;    // of runs and groups with too few to tell a distribution
};

/// Reads a table of logged steps (docs/formats/recorded-steps.md). Left out and counted are the
/// first twentieth of every run (clocks, caches and kernels that are chosen), its last record
/// (which may contain what ends a run) and groups with fewer than 20 records. A system without the
/// columns `gpu` and `gpus` must be in data/workload/step_systems.yaml.
[[nodiscard]] Result<RecordedStepTable> ReadRecordedSteps(const std::string& path);

}  // namespace orrery::calibrate
