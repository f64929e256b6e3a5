#include "orrery/workload/recorded/host_samples.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>

#include "orrery/workload/recorded/profiler_share.h"

namespace orrery::workload {
namespace {

using trace::Trace;

class StepSampler {
 public:
  StepSampler(const Trace& trace, const CallTree& step, std::vector<HostSample>& samples)
      : trace_(trace), step_(step), samples_(samples) {}

  void AddThread(const ThreadCalls& thread) {
    calls_ = thread.calls;
    is_backward_ = thread.runs_backward;
    for (std::uint32_t call = 0; call < calls_.size(); ++call) {
      switch (calls_[call].kind) {
        case CallKind::kOperator:
          AddOperator(call);
          break;
        case CallKind::kLaunch:
          Add(HostPart::kLaunch, calls_[call].name, static_cast<double>(calls_[call].duration_ns),
              ProfilerShareInside(CallKind::kLaunch));
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
  void Add(HostPart part, StringId name, double value, double events) {
    samples_.push_back({part, name, value, events, is_backward_});
  }

  [[nodiscard]] std::int64_t EndOf(const Call& call) const {
    return call.begin_ns + call.duration_ns;
  }

  void AddOperator(std::uint32_t index) {
    const Call& op = calls_[index];
    const Call* previous = nullptr;
    double launches = 0;
    double waits = 0;
    ForEachChild(calls_, index, [&](std::uint32_t child_index) {
      const Call& child = calls_[child_index];
      launches += child.kind == CallKind::kLaunch ? 1 : 0;
      waits += child.kind == CallKind::kSynchronize ? 1 : 0;
      AddBefore(op, previous, child);
      previous = &child;
    });
    AddAtEnd(op, previous);
    Add(HostPart::kLaunches, op.name, launches, 0);
    Add(HostPart::kWaits, op.name, waits, 0);
  }

  void AddBefore(const Call& op, const Call* previous, const Call& child) {
    if (previous == nullptr) {
      Add(HostPart::kStart, op.name, static_cast<double>(child.begin_ns - op.begin_ns),
          ProfilerShareInside(op.kind) / 2 + ProfilerShareBeside(child.kind));
    } else {
      Add(HostPart::kBetween, op.name, static_cast<double>(child.begin_ns - EndOf(*previous)),
          ProfilerShareBeside(previous->kind) + ProfilerShareBeside(child.kind));
    }
  }

  void AddAtEnd(const Call& op, const Call* last) {
    if (last == nullptr) {
      Add(HostPart::kWhole, op.name, static_cast<double>(op.duration_ns),
          ProfilerShareInside(op.kind));
    } else {
      Add(HostPart::kEnd, op.name, static_cast<double>(EndOf(op) - EndOf(*last)),
          ProfilerShareBeside(last->kind) + ProfilerShareInside(op.kind) / 2);
    }
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
        const std::int64_t from_ns = previous == nullptr ? range.begin_ns : EndOf(*previous);
        AddGap(range, is_list, from_ns, previous == nullptr ? range : *previous, child);
      }
      previous = &child;
    });
    if (range.kind == CallKind::kAnnotation) {
      AddRest(range, is_list, previous);
    }
  }

  void AddGap(const Call& range, bool is_list, std::int64_t from_ns, const Call& before,
              const Call& child) {
    if (HasBackwardIn(from_ns, child.begin_ns)) {
      return;
    }
    const auto gap_ns = static_cast<double>(child.begin_ns - from_ns);
    const double events = (&before == &range ? ProfilerShareInside(range.kind) / 2
                                             : ProfilerShareBeside(before.kind)) +
                          ProfilerShareBeside(child.kind);
    if (is_backward_ && range.kind == CallKind::kRoot) {
      Add(HostPart::kTurn, StringId::kEmpty, gap_ns, events);
    } else if (is_list) {
      Add(HostPart::kGapInList, child.name, gap_ns / num_parameters(), events / num_parameters());
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
    const double events =
        last == nullptr ? ProfilerShareInside(range.kind)
                        : ProfilerShareBeside(last->kind) + ProfilerShareInside(range.kind) / 2;
    if (is_list) {
      Add(HostPart::kRestInList, range.name, rest_ns / num_parameters(), events / num_parameters());
    } else {
      Add(HostPart::kRest, range.name, rest_ns, events);
    }
  }

  [[nodiscard]] double num_parameters() const {
    return static_cast<double>(std::max<std::int64_t>(1, step_.num_parameters));
  }

  [[nodiscard]] bool HasBackwardIn(std::int64_t begin_ns, std::int64_t end_ns) const {
    if (is_backward_) {
      return false;
    }
    for (const ThreadCalls& thread : step_.threads) {
      if (thread.runs_backward) {
        const auto first = std::lower_bound(
            thread.calls.begin() + 1, thread.calls.end(), begin_ns,
            [](const Call& call, std::int64_t at_ns) { return call.begin_ns < at_ns; });
        if (first != thread.calls.end() && first->begin_ns < end_ns) {
          return true;
        }
      }
    }
    return false;
  }

  const Trace& trace_;
  const CallTree& step_;
  std::vector<HostSample>& samples_;
  std::span<const Call> calls_;
  bool is_backward_ = false;
};

// A kernel shows the latency of its launch if its stream had nothing to do when it was launched,
// and the gap to the one before if it was launched long before that one ended.
constexpr std::int64_t kClearlyIdleNs = 2'000;
constexpr std::int64_t kClearlyQueuedNs = 10'000;

}  // namespace

std::vector<HostSample> SamplesOf(const Trace& recording, const CallTree& step) {
  std::vector<HostSample> samples;
  StepSampler sampler(recording, step, samples);
  for (const ThreadCalls& thread : step.threads) {
    sampler.AddThread(thread);
  }
  return samples;
}

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
        samples.push_back({HostPart::kLaunchLatency, StringId::kEmpty, latency_ns, 0, false});
      } else if (launch_end_ns + kClearlyQueuedNs < stream->second) {
        const auto gap_ns =
            static_cast<double>(std::max<std::int64_t>(0, begin_ns - stream->second));
        samples.push_back({HostPart::kKernelGap, StringId::kEmpty, gap_ns, 0, false});
      }
    }
    stream->second = std::max(stream->second, begin_ns + recording.activities.duration_ns[row]);
  }
  return samples;
}

}  // namespace orrery::workload
