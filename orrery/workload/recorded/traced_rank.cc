#include "orrery/workload/recorded/traced_rank.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/device_roles.h"
#include "orrery/workload/recorded/phase_ranges.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {
namespace {

using trace::Trace;

constexpr std::string_view kCommunicationPrefix = "orrery.collective#";

std::optional<std::size_t> CommunicationNumber(std::string_view name) {
  std::size_t number = 0;
  if (!name.starts_with(kCommunicationPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kCommunicationPrefix.size());
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

struct Window {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
};

Window WindowOf(const CallTree& step) {
  Window window;
  for (const ThreadCalls& thread : step.threads) {
    for (std::size_t i = 1; i < thread.calls.size(); ++i) {
      const Call& call = thread.calls[i];
      window.begin_ns = std::min(window.begin_ns, call.begin_ns);
      window.end_ns = std::max(window.end_ns, call.begin_ns + call.duration_ns + 1);
    }
  }
  return window;
}

/// The launches inside of ranges that stand for communications: the first of each range.
class CommunicationMarks {
 public:
  explicit CommunicationMarks(const CallTree& step, const Trace& recording) {
    for (const ThreadCalls& thread : step.threads) {
      for (std::size_t i = 0; i < thread.calls.size(); ++i) {
        const Call& call = thread.calls[i];
        const auto number = call.kind == CallKind::kAnnotation
                                ? CommunicationNumber(recording.Text(call.name))
                                : std::nullopt;
        if (number) {
          most_ = std::max(most_, *number + 1);
          Mark(thread, i, *number);
        }
      }
    }
  }

  /// Which communication a launch stands for.
  [[nodiscard]] std::optional<std::size_t> NumberOf(RowId launch) const {
    const auto found = number_of_launch_.find(launch);
    return found == number_of_launch_.end() ? std::nullopt : std::optional(found->second);
  }

  /// One more than the highest number of a range.
  [[nodiscard]] std::size_t most() const { return most_; }

  [[nodiscard]] std::size_t size() const { return number_of_launch_.size(); }

 private:
  void Mark(const ThreadCalls& thread, std::size_t range, std::size_t number) {
    const std::size_t end = range + 1 + thread.calls[range].num_descendants;
    for (std::size_t i = range + 1; i < end; ++i) {
      if (thread.calls[i].kind == CallKind::kLaunch) {
        number_of_launch_.emplace(thread.calls[i].row, number);
        return;
      }
    }
  }

  std::unordered_map<RowId, std::size_t> number_of_launch_;
  std::size_t most_ = 0;
};

class RankBuilder {
 public:
  RankBuilder(const TracedRankSources& sources, const CallTree& step, const StepCosts* costs,
              const Window& window)
      : sources_(sources),
        step_(step),
        costs_(costs),
        marks_(step, *sources.recording),
        phases_(*sources.recording, window.begin_ns, window.end_ns),
        roles_(*sources.recording, phases_, *sources.gpu) {}

  Result<TracedProgram> Build() {
    const std::size_t known = rank().collectives.communications.size();
    if (marks_.most() > known) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{}: the step has the range {}{}, and collectives.json {} communications: "
                              "trace the rank again",
                              rank().folder, kCommunicationPrefix, marks_.most() - 1, known));
    }
    TracedProgram traced;
    traced.recorded = ProgramOfRecording(
        *sources_.recording, step_, *sources_.host,
        [this](RowId activity, DeviceTask& task) { Complete(activity, task); }, costs_);
    if (marks_.size() < known) {
      traced.remarks.push_back(
          fmt::format("Rank {}: {} of {} communications are not in the recording and take no time.",
                      rank().rank, known - marks_.size(), known));
    }
    if (phases_.empty()) {
      traced.remarks.push_back(fmt::format(
          "Rank {}: the recording has no phases; nothing is counted as the optimizer's.",
          rank().rank));
    }
    return traced;
  }

 private:
  [[nodiscard]] const TracedRank& rank() const { return sources_.job->ranks[sources_.traced_rank]; }

  void Complete(RowId activity, DeviceTask& task) {
    task.role = roles_.RoleOf(activity);
    const auto number = marks_.NumberOf(sources_.recording->activities.launch[activity]);
    if (!number) {
      return;
    }
    const TracedCommunication& communication = rank().collectives.communications[*number];
    const std::string role = sources_.roles->NameOf(sources_.traced_rank, communication);
    task.duration_ps = 0;
    task.name = collective::Name(communication.kind);
    if (role.empty()) {
      return;
    }
    task.communication = RecordedCommunication{
        .role = role, .kind = communication.kind, .bytes = communication.bytes, .element = communication.element};
    task.role->category = role.substr(0, role.find(' '));
    task.role->sm_share = CommunicationShare(communication.kind, sources_.gpu->multiprocessors);
    task.role->memory_share = 0;
    task.role->compute_share = 0;
    task.role->operation = kNoOperation;
  }

  const TracedRankSources& sources_;
  const CallTree& step_;
  const StepCosts* costs_;
  CommunicationMarks marks_;
  PhaseRanges phases_;
  DeviceRoles roles_;
};

}  // namespace

Result<TracedProgram> ProgramOfTracedRank(const TracedRankSources& sources) {
  const std::vector<CallTree> steps = RecordedSteps(*sources.recording);
  const std::size_t which = steps.size() / 2;
  const CallTree& step = steps[which];
  if (step.threads.empty() || sources.recording->activities.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: no operators or no kernels in the recording: trace the rank again",
                            sources.job->ranks[sources.traced_rank].folder));
  }
  if (!sources.profiler_cost_ns) {
    return RankBuilder(sources, step, nullptr, WindowOf(step)).Build();
  }
  const StepCosts costs =
      RecordedHost(*sources.recording, steps, which).Without(*sources.profiler_cost_ns);
  return RankBuilder(sources, step, &costs, WindowOf(step)).Build();
}

}  // namespace orrery::workload
