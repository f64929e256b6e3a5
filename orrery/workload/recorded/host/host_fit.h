#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::workload {

/// Events whose profiler cost a time holds; parts of events count in parts.
struct ProfiledEvents {
  double operators = 0;
  double launches = 0;  // and waits

  ProfiledEvents operator+(const ProfiledEvents& other) const {
    return {operators + other.operators, launches + other.launches};
  }

  ProfiledEvents operator*(double factor) const { return {operators * factor, launches * factor}; }
};

/// Fits a host model from recordings that were made with a profiler.
///
/// The profiler's cost is taken off, once for each event: it differs from process to process by a
/// factor of three. What is left runs at different paces from thread to thread, although the
/// machine is the same: cores, clocks and neighbours differ. So a cost is taken as (cost of the
/// name) × (pace of the thread), both found by alternating medians of logarithms, and the model is
/// that of the median pace.
class HostFit {
 public:
  /// Adds a recording with its steps (RecordedSteps). Returns its number.
  std::size_t Add(const trace::Trace& recording, std::span<const CallTree> steps);

  std::size_t Add(const trace::Trace& recording) {
    return Add(recording, RecordedSteps(recording));
  }

  struct Options {
    std::vector<double> profiler_costs_ns = {};  // of an event in each recording; empty: 0
    std::vector<std::size_t> without = {};  // recordings to leave out
    bool with_spread = true;                // quantiles too, which take longer than the rest
  };

  [[nodiscard]] HostModel Fit(const Options& options) const;

 private:
  struct Cell {
    std::vector<double> values;
    ProfiledEvents events;  // sum over the values
    double typical = 0;     // the mean without outliers, known when its recording is complete

    [[nodiscard]] ProfiledEvents EventsOfOne() const {
      return events * (1 / static_cast<double>(values.size()));
    }
  };

  // By thread: twice the recording's number, plus one for the thread of the backward pass.
  using CellOfThread = std::map<std::size_t, Cell>;

  std::map<HostModel::Key, CellOfThread> cells_;
  std::size_t num_recordings_ = 0;
};

/// The value below which half of the weight is. Pairs of value and weight.
[[nodiscard]] double WeightedMedian(std::vector<std::pair<double, double>> values);

}  // namespace orrery::workload
