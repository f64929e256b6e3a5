#include "orrery/workload/recorded/host/host_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {
namespace {

/// One recorded cost.
struct HostSample {
  HostPart part = HostPart::kWhole;
  StringId name = StringId::kEmpty;  // of the recording
  double value = 0;                  // nanoseconds, or a number
  ProfiledEvents events = {};
  bool on_backward_thread = false;
};

using trace::Trace;

class StepSampler {
 public:
  StepSampler(const Trace& trace, const CallTree& step, const DeviceQueue& queue,
              std::vector<HostSample>& samples)
      : trace_(trace), step_(step), queue_(queue), samples_(samples) {}

  void AddThread(const ThreadCalls& thread) {
    thread_ = &thread;
    calls_ = thread.calls;
    is_backward_ = thread.runs_backward;
    for (std::uint32_t call = 0; call < calls_.size(); ++call) {
      switch (calls_[call].kind) {
        case CallKind::kOperator:
          AddOperator(call);
          break;
        case CallKind::kLaunch:
          AddLaunch(call, calls_[call].name);
          break;
        case CallKind::kRoot:
        case CallKind::kAnnotation:
          AddGaps(call);
          break;
        case CallKind::kSynchronize:
          break;
      }
    }
  }

 private:
  void Add(HostPart part, StringId name, double value, const ProfiledEvents& events) {
    samples_.push_back({part, name, value, events, is_backward_});
  }

  // A launch counts for its own name, and for the operator that makes it: launches of a library's
  // loop take less time than those of single operators. One into a full queue waits for the GPU.
  void AddLaunch(std::uint32_t call, StringId name) {
    if (!queue_.IsFull(calls_[call].begin_ns)) {
      Add(HostPart::kLaunch, name, static_cast<double>(calls_[call].duration_ns),
          {.launches = ProfilerShareOf(CallKind::kLaunch).inside});
    }
  }

  [[nodiscard]] static ProfiledEvents Events(CallKind kind, double share) {
    return kind == CallKind::kLaunch || kind == CallKind::kSynchronize
               ? ProfiledEvents{.launches = share}
               : ProfiledEvents{.operators = share};
  }

  [[nodiscard]] static ProfiledEvents BeforeOf(CallKind kind) {
    return Events(kind, ProfilerShareOf(kind).before);
  }

  [[nodiscard]] static ProfiledEvents HalfInside(CallKind kind) {
    return Events(kind, ProfilerShareOf(kind).inside / 2);
  }

  [[nodiscard]] std::int64_t EndOf(const Call& call) const {
    return call.begin_ns + call.duration_ns;
  }

  // The profiler's share at the begin of a range, or behind the last call inside it.
  [[nodiscard]] static ProfiledEvents AroundOf(const Call& range, const Call* last) {
    return last == nullptr ? HalfInside(range.kind) : BeforeOf(last->kind);
  }

  void AddOperator(std::uint32_t index) {
    const Call& op = calls_[index];
    const Call* previous = nullptr;
    double launches = 0;
    double waits = 0;
    ForEachChild(calls_, index, [&](std::uint32_t child_index) {
      const Call& child = calls_[child_index];
      if (child.kind == CallKind::kLaunch) {
        ++launches;
        AddLaunch(child_index, op.name);
      }
      waits += child.kind == CallKind::kSynchronize ? 1 : 0;
      const std::int64_t from_ns = previous == nullptr ? op.begin_ns : EndOf(*previous);
      const bool is_gap = IsRecomputed(*thread_, op, child);
      Add(is_gap                ? HostPart::kGap
          : previous == nullptr ? HostPart::kStart
                                : HostPart::kBetween,
          is_gap ? child.name : op.name, static_cast<double>(child.begin_ns - from_ns),
          AroundOf(op, previous) + BeforeOf(child.kind));
      previous = &child;
    });
    const std::int64_t from_ns = previous == nullptr ? op.begin_ns : EndOf(*previous);
    Add(previous == nullptr ? HostPart::kWhole : HostPart::kEnd, op.name,
        static_cast<double>(EndOf(op) - from_ns), AroundOf(op, previous) + HalfInside(op.kind));
    Add(HostPart::kLaunches, op.name, launches, {});
    Add(HostPart::kWaits, op.name, waits, {});
  }

  // The program's own time between the calls of an annotation or a thread.
  void AddGaps(std::uint32_t index) {
    const Call& range = calls_[index];
    const bool is_list =
        IsListWalk(trace_.Text(range.name), NumChildren(calls_, index), step_.num_parameters);
    const Call* previous = nullptr;
    ForEachChild(calls_, index, [&](std::uint32_t child_index) {
      const Call& child = calls_[child_index];
      const bool is_first_of_thread = range.kind == CallKind::kRoot && previous == nullptr;
      if (!is_first_of_thread) {
        AddGap(range, is_list, previous, child);
      }
      previous = &child;
    });
    if (range.kind == CallKind::kAnnotation) {
      AddRest(range, is_list, previous);
    }
  }

  void AddGap(const Call& range, bool is_list, const Call* previous, const Call& child) {
    const std::int64_t from_ns = previous == nullptr ? range.begin_ns : EndOf(*previous);
    if (HasBackwardIn(from_ns, child.begin_ns)) {
      return;
    }
    const auto gap_ns = static_cast<double>(child.begin_ns - from_ns);
    const ProfiledEvents events = AroundOf(range, previous) + BeforeOf(child.kind);
    if (is_backward_ && range.kind == CallKind::kRoot && IsBackwardNode(trace_, child)) {
      Add(HostPart::kTurn, StringId::kEmpty, gap_ns, events);
    } else if (is_list) {
      Add(HostPart::kGapInList, child.name, gap_ns / num_parameters(),
          events * (1 / num_parameters()));
    } else {
      Add(HostPart::kGap, child.name, gap_ns, events);
    }
  }

  void AddRest(const Call& range, bool is_list, const Call* last) {
    const std::int64_t from_ns = last == nullptr ? range.begin_ns : EndOf(*last);
    if (HasBackwardIn(from_ns, EndOf(range))) {
      return;
    }
    const auto rest_ns = static_cast<double>(EndOf(range) - from_ns);
    const ProfiledEvents events = AroundOf(range, last) + HalfInside(range.kind);
    if (is_list) {
      Add(HostPart::kRestInList, range.name, rest_ns / num_parameters(),
          events * (1 / num_parameters()));
    } else {
      Add(HostPart::kRest, range.name, rest_ns, events);
    }
  }

  [[nodiscard]] double num_parameters() const {
    return static_cast<double>(std::max<std::int64_t>(1, step_.num_parameters));
  }

  [[nodiscard]] bool HasBackwardIn(std::int64_t begin_ns, std::int64_t end_ns) const {
    return !is_backward_ && std::ranges::any_of(step_.threads, [&](const ThreadCalls& thread) {
      const auto calls = std::span(thread.calls).subspan(1);
      const auto first = std::ranges::lower_bound(calls, begin_ns, {}, &Call::begin_ns);
      return thread.runs_backward && first != calls.end() && first->begin_ns < end_ns;
    });
  }

  const Trace& trace_;
  const CallTree& step_;
  const DeviceQueue& queue_;
  std::vector<HostSample>& samples_;
  const ThreadCalls* thread_ = nullptr;
  std::span<const Call> calls_;
  bool is_backward_ = false;
};

// A kernel shows the latency of its launch if its stream had nothing to do when it was launched,
// and the gap to the one before if it was launched long before that one ended.
constexpr std::int64_t kClearlyIdleNs = 2'000;
constexpr std::int64_t kClearlyQueuedNs = 10'000;

// The times between launches, streams and kernels of a whole recording: launch_latency and
// kernel_gap.
std::vector<HostSample> DeviceSamplesOf(const Trace& recording) {
  std::vector<HostSample> samples;
  std::map<RowId, std::int64_t> end_of_stream;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    const auto [stream, is_first] = end_of_stream.try_emplace(recording.activities.track[row], 0);
    const std::int64_t begin_ns = recording.activities.begin_ns[row];
    const RowId launch = recording.activities.launch[row];
    if (!is_first && launch != kNoRow) {
      const std::int64_t launch_begin_ns = recording.runtime_calls.begin_ns[launch];
      const std::int64_t launch_end_ns =
          launch_begin_ns + recording.runtime_calls.duration_ns[launch];
      if (stream->second + kClearlyIdleNs < launch_begin_ns) {
        const auto latency_ns =
            static_cast<double>(std::max<std::int64_t>(0, begin_ns - launch_end_ns));
        samples.push_back({HostPart::kLaunchLatency, StringId::kEmpty, latency_ns, {}, false});
      } else if (launch_end_ns + kClearlyQueuedNs < stream->second) {
        const auto gap_ns =
            static_cast<double>(std::max<std::int64_t>(0, begin_ns - stream->second));
        samples.push_back({HostPart::kKernelGap, StringId::kEmpty, gap_ns, {}, false});
      }
    }
    stream->second = std::max(stream->second, begin_ns + recording.activities.duration_ns[row]);
  }
  return samples;
}

constexpr int kRounds = 20;
constexpr double kPaceQuantile = 0.5;

// Part of what looks like a pace is the profiler's cost, which is one value for all events of a
// recording: half of the difference between threads is believed.
constexpr double kPaceShrinkage = 0.5;

// The least share of a cost that remains without the profiler's cost, which is an average.
constexpr double kLeastShare = 0.1;

bool IsCount(HostPart part) {
  return part == HostPart::kLaunches || part == HostPart::kWaits;
}

/// The mean of the middle three quarters: single hiccups do not count, and long tails add up.
double MiddleMean(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t cut = values.size() / 8;
  return Mean(std::span(values).subspan(cut, values.size() - 2 * cut));
}

/// A cost of one name on one thread.
struct Observation {
  std::size_t name = 0;
  std::size_t thread = 0;
  double logarithm = 0;
  double weight = 0;  // the time it stands for
};

/// logarithm ≈ cost(name) + pace(thread).
struct Paces {
  std::vector<double> cost_of_name;
  std::vector<double> pace_of_thread;
};

void FitCosts(const std::vector<Observation>& observations, Paces& paces) {
  std::vector<std::vector<double>> values(paces.cost_of_name.size());
  for (const Observation& seen : observations) {
    values[seen.name].push_back(seen.logarithm - paces.pace_of_thread[seen.thread]);
  }
  for (std::size_t name = 0; name < values.size(); ++name) {
    paces.cost_of_name[name] = Median(values[name]);
  }
}

void FitPaces(const std::vector<Observation>& observations, const std::vector<bool>& tells_pace,
              Paces& paces) {
  std::vector<std::vector<std::pair<double, double>>> values(paces.pace_of_thread.size());
  for (const Observation& seen : observations) {
    if (tells_pace[seen.name]) {
      values[seen.thread].emplace_back(seen.logarithm - paces.cost_of_name[seen.name], seen.weight);
    }
  }
  for (std::size_t thread = 0; thread < values.size(); ++thread) {
    paces.pace_of_thread[thread] =
        values[thread].empty() ? 0 : kPaceShrinkage * WeightedMedian(values[thread]);
  }
}

// Rounds to the resolution of clocks, to keep files small.
HostCost Rounded(HostCost cost, double parts_of_one) {
  const auto round = [&](double& value) {
    value = std::round(value * parts_of_one) / parts_of_one;
  };
  round(cost.typical);
  round(cost.mean);
  for (double& quantile : cost.quantiles) {
    round(quantile);
  }
  return cost;
}

// Entries for names that were not recorded: the median of recorded ones.
void AddKinds(HostModel& model) {
  std::map<HostModel::Key, std::vector<double>> typical_of_kind;
  for (const auto& [key, cost] : model.entries()) {
    const auto& [part, name] = key;
    if (!DependsOnHost(part)) {
      continue;
    }
    typical_of_kind[{part, std::string(HostModel::kAll)}].push_back(cost.typical);
    if (IsOperatorPart(part)) {
      const HostCost* launches = model.Find(HostPart::kLaunches, name);
      const bool is_launching = launches != nullptr && launches->typical >= 0.5;
      typical_of_kind[{part, std::string(KindOf(name, is_launching))}].push_back(cost.typical);
    }
  }
  for (const auto& [key, values] : typical_of_kind) {
    HostCost cost = SpreadOf(values);
    cost.typical = cost.quantiles[2];
    model.Set(key.first, key.second, Rounded(cost, 1e1));
  }
}

bool IsIn(const std::vector<std::size_t>& list, std::size_t number) {
  return std::ranges::find(list, number) != list.end();
}

/// The pace that half of the observed threads reach.
double PaceToModel(const std::vector<Observation>& observations, const Paces& paces) {
  std::set<std::size_t> threads;
  for (const Observation& seen : observations) {
    threads.insert(seen.thread);
  }
  std::vector<double> used;
  for (const std::size_t thread : threads) {
    used.push_back(paces.pace_of_thread[thread]);
  }
  std::ranges::sort(used);
  return used.empty()
             ? 0.0
             : used[static_cast<std::size_t>(static_cast<double>(used.size() - 1) * kPaceQuantile)];
}

Paces FitAll(const std::vector<Observation>& observations, const std::vector<bool>& tells_pace,
             std::size_t num_threads) {
  Paces paces{.cost_of_name = std::vector<double>(tells_pace.size(), 0),
              .pace_of_thread = std::vector<double>(num_threads, 0)};
  for (int round = 0; round < kRounds; ++round) {
    FitCosts(observations, paces);
    FitPaces(observations, tells_pace, paces);
  }
  FitCosts(observations, paces);
  return paces;
}

double WithoutProfiler(double recorded_ns, double added_ns) {
  return std::max(recorded_ns - added_ns, kLeastShare * recorded_ns);
}

double AddedNs(const HostFit::Options& options, std::size_t thread, const ProfiledEvents& events) {
  const double cost_ns =
      options.profiler_costs_ns.empty() ? 0 : options.profiler_costs_ns[thread / 2];
  return cost_ns * (events.operators + events.launches);
}

/// The spread of a cost over the threads that count, each at the pace of the model.
template <typename Cells, typename ScaleOf>
HostCost SpreadOver(const Cells& cells, const HostFit::Options& options, const ScaleOf& scale_of) {
  std::vector<double> values;
  std::int64_t num_threads = 0;
  for (const auto& [thread, cell] : cells) {
    if (IsIn(options.without, thread / 2)) {
      continue;
    }
    ++num_threads;
    const double added_ns = AddedNs(options, thread, cell.EventsOfOne());
    for (std::size_t i = 0; options.with_spread && i < cell.values.size(); ++i) {
      values.push_back(scale_of(thread) * std::max(0.0, cell.values[i] - added_ns));
    }
  }
  HostCost cost = values.empty() ? HostCost{} : SpreadOf(values);
  cost.recordings = num_threads;
  return cost;
}

/// The mean over the threads that count, for what does not depend on the pace of the host.
template <typename Cells>
double TypicalOf(HostPart part, const Cells& cells, const HostFit::Options& options) {
  std::vector<double> typical;
  for (const auto& [thread, cell] : cells) {
    if (!IsIn(options.without, thread / 2)) {
      typical.push_back(IsCount(part) ? Mean(cell.values) : cell.typical);
    }
  }
  return typical.empty() ? 0 : Mean(typical);
}

}  // namespace

double WeightedMedian(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double total = 0;
  for (const auto& [value, weight] : values) {
    total += weight;
  }
  double seen = 0;
  for (const auto& [value, weight] : values) {
    seen += weight;
    if (seen >= total / 2) {
      return value;
    }
  }
  return 0;
}

std::size_t HostFit::Add(const trace::Trace& recording, std::span<const CallTree> steps) {
  const std::size_t number = num_recordings_++;
  std::map<std::tuple<HostPart, StringId, bool>, Cell*> known;  // names repeat, and are long
  const auto add = [&](const HostSample& sample) {
    Cell*& cell = known[{sample.part, sample.name, sample.on_backward_thread}];
    if (cell == nullptr) {
      const std::string_view text = recording.Text(sample.name);
      std::string name(text.empty() ? HostModel::kAll : BaseName(text));
      cell =
          &cells_[{sample.part, std::move(name)}][2 * number + (sample.on_backward_thread ? 1 : 0)];
    }
    cell->values.push_back(sample.value);
    cell->events = cell->events + sample.events;
  };
  std::vector<HostSample> samples;
  const DeviceQueue queue(recording);
  for (const CallTree& step : steps) {
    StepSampler sampler(recording, step, queue, samples);
    std::ranges::for_each(step.threads,
                          [&](const ThreadCalls& thread) { sampler.AddThread(thread); });
  }
  std::ranges::for_each(samples, add);
  std::ranges::for_each(DeviceSamplesOf(recording), add);
  for (auto& [key, cells] : cells_) {
    for (auto& [thread, cell] : cells) {
      cell.typical = thread / 2 == number ? MiddleMean(cell.values) : cell.typical;
    }
  }
  return number;
}

HostModel HostFit::Fit(const Options& options) const {
  std::vector<Observation> observations;
  std::vector<bool> tells_pace;
  for (const auto& [key, cells] : cells_) {
    std::size_t num_cells = 0;
    for (const auto& [thread, cell] : cells) {
      if (!IsIn(options.without, thread / 2)) {
        const double cost_ns =
            WithoutProfiler(cell.typical, AddedNs(options, thread, cell.EventsOfOne()));
        observations.push_back({tells_pace.size(), thread, std::log(std::max(cost_ns, 1.0)),
                                cost_ns * static_cast<double>(cell.values.size())});
        ++num_cells;
      }
    }
    const bool is_host_work = IsOperatorPart(key.first) || key.first == HostPart::kLaunch;
    tells_pace.push_back(num_cells > 1 && is_host_work && !IsLaunchName(key.second));
  }
  const Paces paces = FitAll(observations, tells_pace, 2 * num_recordings_);
  const double pace = PaceToModel(observations, paces);
  HostModel model;
  model.profiler_cost_ns =
      options.profiler_costs_ns.empty() ? 0 : Median(options.profiler_costs_ns);
  std::size_t name = 0;
  for (const auto& [key, cells] : cells_) {
    const double typical_ns = std::exp(paces.cost_of_name[name++] + pace);
    HostCost cost = SpreadOver(cells, options, [&](std::size_t thread) {
      return DependsOnHost(key.first) ? std::exp(pace - paces.pace_of_thread[thread]) : 1.0;
    });
    cost.typical = DependsOnHost(key.first) ? typical_ns : TypicalOf(key.first, cells, options);
    if (cost.recordings > 0) {
      model.Set(key.first, key.second, Rounded(cost, IsCount(key.first) ? 1e3 : 1e1));
    }
  }
  AddKinds(model);
  return model;
}

}  // namespace orrery::workload
