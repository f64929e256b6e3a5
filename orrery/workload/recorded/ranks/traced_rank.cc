#include "orrery/workload/recorded/ranks/traced_rank.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/recorded_call.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/priced_calls.h"
#include "orrery/workload/recorded/ranks/traced_job.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {
namespace {

using trace::Trace;

// Phase::kOther for other names.
Phase PhaseNamed(std::string_view name) {
  return name == "forward"     ? Phase::kForward
         : name == "backward"  ? Phase::kBackward
         : name == "optimizer" ? Phase::kOptimizer
                               : Phase::kOther;
}

/// The phase of a moment of a recorded step.
struct PhaseAt {
  Phase phase = Phase::kOther;
  std::int32_t microbatch = -1;  // counted in each phase; none of the optimizer
};

/// The ranges `forward`, `backward` and `optimizer` that a tracer puts around the parts of a step.
/// They hold for all threads: the kernels of a backward pass are launched by another one than that
/// which opened the range.
class PhaseRanges {
 public:
  /// Those that begin from `begin_ns` to before `end_ns`.
  PhaseRanges(const trace::Trace& recording, std::int64_t begin_ns, std::int64_t end_ns) {
    std::map<Phase, std::int32_t> counts;
    for (RowId row = 0; row < recording.annotations.size(); ++row) {
      const std::int64_t at_ns = recording.annotations.begin_ns[row];
      const Phase phase = PhaseNamed(recording.Text(recording.annotations.name[row]));
      if (phase != Phase::kOther &&
          recording.annotations.kind[row] == trace::AnnotationKind::kHost && at_ns >= begin_ns &&
          at_ns < end_ns) {
        const std::int32_t microbatch = phase == Phase::kOptimizer ? -1 : counts[phase]++;
        ranges_.push_back(
            {at_ns, at_ns + recording.annotations.duration_ns[row], {phase, microbatch}});
      }
    }
  }

  /// Of nested ranges the inner one counts.
  [[nodiscard]] PhaseAt At(std::int64_t at_ns) const {
    auto range = std::ranges::upper_bound(ranges_, at_ns, {}, &Range::begin_ns);
    while (range != ranges_.begin()) {
      --range;
      if (at_ns < range->end_ns) {
        return range->phase;
      }
    }
    return {};
  }

  [[nodiscard]] bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    PhaseAt phase;
  };

  std::vector<Range> ranges_;  // in order of begin
};

using kernel::OperatorKind;
using trace::ActivityKind;

constexpr std::uint32_t kMillion = 1'000'000;

std::uint32_t Millionths(double share) {
  return static_cast<std::uint32_t>(std::clamp(share, 0.0, 1.0) * kMillion);
}

Category CategoryOf(OperatorKind kind) {
  using enum OperatorKind;
  static const std::map<OperatorKind, Category> kCategories{{kGemm, Category::kGemm},
                                                            {kBatchedGemm, Category::kGemm},
                                                            {kGroupedGemm, Category::kExperts},
                                                            {kMoe, Category::kExperts},
                                                            {kMoePermute, Category::kExperts},
                                                            {kAttention, Category::kAttention},
                                                            {kConv, Category::kConvolution},
                                                            {kConv1d, Category::kConvolution},
                                                            {kEmbedding, Category::kEmbedding},
                                                            {kEmbeddingBag, Category::kEmbedding},
                                                            {kLayerNorm, Category::kNorm},
                                                            {kRmsNorm, Category::kNorm},
                                                            {kBatchNorm, Category::kNorm},
                                                            {kGroupNorm, Category::kNorm},
                                                            {kNll, Category::kLoss},
                                                            {kCrossEntropy, Category::kLoss},
                                                            {kLoss, Category::kLoss},
                                                            {kQuantize, Category::kCast},
                                                            {kRnn, Category::kGemm},
                                                            {kTriton, Category::kElementwise},
                                                            {kOptimizer, Category::kOptimizer},
                                                            {kGradientNorm, Category::kOptimizer}};
  const auto found = kCategories.find(kind);
  return found == kCategories.end() ? Category::kElementwise : found->second;
}

/// Finds the purpose of recorded kernels from the phase of their launch and the launching operator,
/// and their share of the GPU: the work of the operator over the time of all its kernels. A kernel
/// of an unknown operator has no category and uses all multiprocessors. The recording and the GPU
/// must outlive it.
class DeviceRoles {
 public:
  DeviceRoles(const trace::Trace& recording, PhaseRanges phases, const hardware::Gpu& gpu)
      : recording_(recording), phases_(std::move(phases)), gpu_(gpu) {
    for (RowId activity = 0; activity < recording.activities.size(); ++activity) {
      const RowId host_op = recording.activities.host_op[activity];
      if (host_op != kNoRow) {
        time_of_operator_ns_[host_op] += recording.activities.duration_ns[activity];
      }
    }
  }

  [[nodiscard]] DeviceRole RoleOf(RowId activity) {
    DeviceRole role{.sm_share = kMillion};
    const RowId host_op = recording_.activities.host_op[activity];
    if (recording_.activities.kind[activity] != ActivityKind::kKernel) {
      role = {.category = "copies"};
    } else if (host_op != kNoRow) {
      const auto [known, is_new] = role_of_operator_.try_emplace(host_op, role);
      if (is_new) {
        Describe(host_op, known->second);
      }
      role = known->second;
    }
    const RowId launch = recording_.activities.launch[activity];
    const PhaseAt phase = phases_.At(launch == kNoRow ? recording_.activities.begin_ns[activity]
                                                      : recording_.runtime_calls.begin_ns[launch]);
    role.phase = phase.phase;
    role.microbatch = phase.microbatch;
    return role;
  }

 private:
  // The innermost operator launches; if it is not understood, the one that called it may be.
  void Describe(RowId host_op, DeviceRole& role) {
    for (RowId row = host_op; row != kNoRow; row = recording_.host_ops.parent[row]) {
      const kernel::AtenOperators asked =
          kernel::OperatorsOf(kernel::CallOfOperator(recording_, row));
      if (asked.meaning != kernel::AtenMeaning::kPriced || asked.operators.empty()) {
        continue;
      }
      const kernel::Operator& op = asked.operators.front();
      role.category = Name(CategoryOf(op.kind()));
      role.operation = static_cast<std::uint8_t>(op.kind());
      const auto time = time_of_operator_ns_.find(host_op);
      const double seconds =
          time == time_of_operator_ns_.end() ? 0 : static_cast<double>(time->second) * 1e-9;
      if (row != host_op || seconds <= 0) {
        return;
      }
      const kernel::Work work = kernel::WorkOf(op);
      if (gpu_.memory.bytes_per_second > 0) {
        role.memory_share =
            Millionths(work.Bytes() / seconds / static_cast<double>(gpu_.memory.bytes_per_second));
      }
      role.compute_share = Millionths(kernel::BoundOf(op, work, gpu_).compute_seconds / seconds);
      return;
    }
  }

  const trace::Trace& recording_;
  PhaseRanges phases_;
  const hardware::Gpu& gpu_;
  std::unordered_map<RowId, std::int64_t> time_of_operator_ns_;  // of the kernels it launches
  std::unordered_map<RowId, DeviceRole> role_of_operator_;       // without phases
};

constexpr std::string_view kCommunicationPrefix = "orrery.collective#";

std::optional<std::size_t> CommunicationNumber(std::string_view name) {
  return name.starts_with(kCommunicationPrefix)
             ? ParseWhole<std::size_t>(name.substr(kCommunicationPrefix.size()))
             : std::nullopt;
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

/// The launches inside ranges that stand for communications: the first of each range.
struct CommunicationMarks {
  std::unordered_map<RowId, std::size_t> number_of_launch;
  std::size_t most = 0;  // one more than the highest number of a range

  CommunicationMarks(const CallTree& step, const Trace& recording) {
    for (const ThreadCalls& thread : step.threads) {
      for (std::size_t i = 0; i < thread.calls.size(); ++i) {
        const Call& call = thread.calls[i];
        const auto number = call.kind == CallKind::kAnnotation
                                ? CommunicationNumber(recording.Text(call.name))
                                : std::nullopt;
        if (number) {
          most = std::max(most, *number + 1);
          const auto inside = std::span(thread.calls).subspan(i + 1, call.num_descendants);
          const auto launch = std::ranges::find(inside, CallKind::kLaunch, &Call::kind);
          if (launch != inside.end()) {
            number_of_launch.emplace(launch->row, *number);
          }
        }
      }
    }
  }
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
    if (marks_.most > known) {
      return Refuse(
          "{}: the step has the range {}{}, and collectives.json {} communications: trace the rank "
          "again",
          rank().folder, kCommunicationPrefix, marks_.most - 1, known);
    }
    TracedProgram traced;
    traced.recorded = ProgramOfRecording(
        *sources_.recording, step_, *sources_.host,
        [this](RowId activity, DeviceTask& task) { Complete(activity, task); }, costs_);
    if (marks_.number_of_launch.size() < known) {
      traced.remarks.push_back(
          fmt::format("Rank {}: {} of {} communications are not in the recording and take no time.",
                      rank().rank, known - marks_.number_of_launch.size(), known));
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
    const auto number =
        marks_.number_of_launch.find(sources_.recording->activities.launch[activity]);
    if (number == marks_.number_of_launch.end()) {
      return;
    }
    const TracedCommunication& communication = rank().collectives.communications[number->second];
    const std::string role = sources_.roles->NameOf(sources_.traced_rank, communication);
    task.duration_ps = 0;
    task.name = CollectiveKindName(communication.kind);
    if (role.empty()) {
      return;
    }
    const std::string& dimension = sources_.roles->roles().find(role)->second.dimension;
    task.communication = RecordedCommunication{.role = role,
                                               .dimension = dimension,
                                               .kind = communication.kind,
                                               .bytes = communication.bytes,
                                               .element = communication.element};
    task.role->category = dimension;
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
    return Refuse("{}: no operators or no kernels in the recording: trace the rank again",
                  sources.job->ranks[sources.traced_rank].folder);
  }
  if (!sources.profiler_cost_ns) {
    return RankBuilder(sources, step, nullptr, WindowOf(step)).Build();
  }
  const StepCosts costs =
      RecordedHost(*sources.recording, steps, which).Without(*sources.profiler_cost_ns);
  return RankBuilder(sources, step, &costs, WindowOf(step)).Build();
}

}  // namespace orrery::workload
