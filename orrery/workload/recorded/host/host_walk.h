#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::workload {

/// Work for a stream that the walk met, to be put on its lane once all threads are walked.
struct QueuedKernel {
  std::int64_t order = 0;  // of its launch, over all threads
  TaskId launch = kNone;
  std::int64_t stream = 0;
  DeviceTask task;
  std::vector<std::int64_t> storages =
      {};  // that its call touches, or that it writes to communication
};

/// A host task that waits for what was launched before.
struct QueuedWait {
  std::int64_t order = 0;
  TaskId task = kNone;
  RowId call = kNone;  // RuntimeCalls, in a recording
};

/// The GPU work of a call, found for a launch of a recording or a node of a graph.
struct CallWork {
  std::vector<QueuedKernel> kernels;
  bool waits = false;
};

using WorkOfCall = std::function<CallWork(const Call& call)>;

/// The tasks of a thread's top-level calls: who waits for the thread needs them.
struct TopCall {
  std::int64_t order = 0;
  TaskId first = kNone;
  TaskId last = kNone;
};

/// State that the walks over all threads share.
struct WalkResult {
  RecordedProgram recorded;
  std::vector<QueuedKernel> kernels;
  std::vector<QueuedWait> waits;
};

/// Walks the calls of one thread and appends its host tasks, with the times of the model; where
/// costs are known place by place, with those.
class HostWalk {
 public:
  HostWalk(const trace::Trace& trace, const CallTree& step, const HostModel& host,
           const WorkOfCall& work, WalkResult& result, const ThreadCosts* costs = nullptr)
      : trace_(trace), step_(step), host_(host), work_(work), result_(result), costs_(costs) {}

  /// A pause of the thread: tasks of another thread from `order_begin` to `order_end` run in it.
  struct Pause {
    std::int64_t order_begin = 0;
    std::int64_t order_end = 0;
    TaskId before = kNone;
    TaskId after = kNone;
  };

  /// `turns` are the orders in which the backward pass's calls begin; empty for its own thread.
  void Walk(const ThreadCalls& thread, std::span<const std::int64_t> turns) {
    Program& program = result_.recorded.program;
    lane_ = program.lanes.Append({.kind = LaneKind::kHostThread, .number = thread.thread});
    thread_ = &thread;
    calls_ = thread.calls;
    turns_ = turns;
    is_backward_ = thread.runs_backward;
    for (std::uint32_t index = 0; index < calls_.size(); ++index) {
      while (!open_.empty() && open_.back().end <= index) {
        Leave();
      }
      Enter(index);
    }
    while (!open_.empty()) {
      Leave();
    }
    NoteTurns(std::numeric_limits<std::int64_t>::max());
  }

  [[nodiscard]] const std::vector<TopCall>& top_calls() const { return top_calls_; }

  [[nodiscard]] const std::vector<Pause>& pauses() const { return pauses_; }

 private:
  // The launch whose cost stands for all where a graph does not say how work is launched.
  static constexpr std::string_view kUsualLaunch = "cudaLaunchKernel";
  static constexpr std::string_view kUsualWait = "cudaStreamSynchronize";

  struct Frame {
    std::uint32_t call = 0;
    std::uint32_t end = 0;
    CallId row = kNone;
    std::uint32_t num_calls = 0;  // made so far
    bool launches = false;
    bool walks_list = false;
    bool is_differentiated =
        false;  // in a node whose calls autograd records for a second derivative
    CallWork work = {};
  };

  void Enter(std::uint32_t index) {
    const Call& call = calls_[index];
    if (call.kind == CallKind::kRoot) {
      open_.push_back({.call = index, .end = index + 1 + call.num_descendants});
      return;
    }
    NoteTurns(call.begin_ns);
    if (open_.size() == 1) {
      top_calls_.push_back({.order = call.begin_ns});
    }
    EnterChild(index);
    if (call.kind == CallKind::kLaunch) {
      const double cost_ns = IsKnown(&ThreadCosts::own_ns, index)
                                 ? costs_->own_ns[index]
                                 : LaunchCost(open_.back(), trace_.Text(call.name));
      AddLaunch(trace_.Text(call.name), cost_ns, work_(call).kernels);
    } else if (call.kind == CallKind::kSynchronize) {
      AddWait(call.begin_ns, call.name, call.row,
              IsKnown(&ThreadCosts::own_ns, index) ? costs_->own_ns[index] : UsualWaitCost());
    } else {
      Open(index);
    }
  }

  // Adds the caller's own time before it makes a call.
  void EnterChild(std::uint32_t index) {
    Frame& parent = open_.back();
    if (IsKnown(&ThreadCosts::before_ns, index)) {
      AddRecorded(costs_->before_ns[index]);
    } else if (calls_[parent.call].kind == CallKind::kOperator &&
               !IsRecomputed(*thread_, calls_[parent.call], calls_[index])) {
      AddOwn(parent, parent.num_calls == 0 ? HostPart::kStart : HostPart::kBetween);
    } else {
      AddGap(parent, calls_[index]);
    }
    ++parent.num_calls;
  }

  void Open(std::uint32_t index) {
    const Call& call = calls_[index];
    Program& program = result_.recorded.program;
    const CallId row = program.calls.Append(
        {.name = program.strings.Intern(trace_.Text(call.name)),
         .lane = lane_,
         .parent = open_.back().row,
         .is_annotation = static_cast<std::uint8_t>(call.kind == CallKind::kAnnotation ? 1 : 0)});
    Frame frame{.call = index,
                .end = index + 1 + call.num_descendants,
                .row = row,
                .is_differentiated = call.is_differentiated || open_.back().is_differentiated};
    if (call.kind == CallKind::kAnnotation) {
      frame.walks_list =
          IsListWalk(trace_.Text(call.name), NumChildren(calls_, index), step_.num_parameters);
    }
    if (call.kind == CallKind::kOperator) {
      ++result_.recorded.coverage.operators;
      if (is_backward_ && call.is_forward && !frame.is_differentiated) {
        AddRecomputation(index);
      }
      frame.work = work_(call);
      frame.launches = !frame.work.kernels.empty();
      ForEachChild(calls_, index, [&](std::uint32_t child) {
        frame.launches |= calls_[child].kind == CallKind::kLaunch;
      });
    }
    open_.push_back(std::move(frame));
  }

  void Leave() {
    Frame& frame = open_.back();
    if (calls_[frame.call].kind != CallKind::kRoot && IsKnown(&ThreadCosts::own_ns, frame.call)) {
      AddRecorded(costs_->own_ns[frame.call]);
    } else if (calls_[frame.call].kind == CallKind::kOperator) {
      LeaveOperator(frame);
    } else if (calls_[frame.call].kind == CallKind::kAnnotation) {
      LeaveAnnotation(frame);
    }
    const CallId row = frame.row;
    open_.pop_back();
    if (row != kNone) {
      Calls& calls = result_.recorded.program.calls;
      const CallId parent = calls.parent[row];
      if (parent != kNone && calls.first_task[row] != kNone) {
        calls.first_task[parent] = std::min(calls.first_task[parent], calls.first_task[row]);
        calls.last_task[parent] = last_task_;
      }
    }
  }

  void LeaveOperator(Frame& frame) {
    // An operator of a graph launches and waits behind the calls it makes: what these wait for
    // cannot be its own work.
    const std::int64_t order = calls_[frame.end - 1].begin_ns;
    for (QueuedKernel& kernel : frame.work.kernels) {
      kernel.order = order;
      AddOwn(frame, frame.num_calls == 0 ? HostPart::kStart : HostPart::kBetween);
      ++frame.num_calls;
      const std::string_view launch =
          kernel.task.launch.empty() ? kUsualLaunch : std::string_view(kernel.task.launch);
      AddLaunch(launch, LaunchCost(frame, launch), {&kernel, 1});
    }
    if (frame.work.waits) {
      AddWait(order, StringId::kEmpty, kNone, UsualWaitCost());
      ++frame.num_calls;
    }
    AddOwn(frame, frame.num_calls == 0 ? HostPart::kWhole : HostPart::kEnd);
  }

  void LeaveAnnotation(const Frame& frame) {
    const std::string_view name = BaseName(trace_.Text(calls_[frame.call].name));
    if (frame.walks_list) {
      AddHost(HostPart::kRestInList, name, false, num_parameters());
    } else {
      AddHost(HostPart::kRest, name, false);
    }
  }

  // If calls of the backward pass begin before `order`, this thread pauses for them.
  void NoteTurns(std::int64_t order) {
    std::size_t num_turns = 0;
    while (num_turns < turns_.size() && turns_[num_turns] < order) {
      ++num_turns;
    }
    if (num_turns == 0) {
      return;
    }
    pauses_.push_back(
        {.order_begin = turns_.front(), .order_end = turns_[num_turns - 1], .before = last_task_});
    is_paused_ = true;
    turns_ = turns_.subspan(num_turns);
  }

  void AddGap(const Frame& parent, const Call& call) {
    const Call& range = calls_[parent.call];
    const std::string_view name = BaseName(trace_.Text(call.name));
    if (range.kind == CallKind::kRoot) {
      if (parent.num_calls > 0) {
        const bool is_turn = is_backward_ && IsBackwardNode(trace_, call);
        AddHost(is_turn ? HostPart::kTurn : HostPart::kGap, is_turn ? HostModel::kAll : name,
                false);
      }
    } else if (parent.walks_list) {
      AddHost(HostPart::kGapInList, name, false, num_parameters());
    } else {
      AddHost(HostPart::kGap, name, false);
    }
  }

  // Activation checkpointing saves and finds tensors with hooks, which run in operators.
  void AddRecomputation(std::uint32_t index) {
    ++result_.recorded.coverage.recomputed;
    const HostCost* const cost = host_.Find(HostPart::kRecompute, HostModel::kAll);
    if (!IsKnown(&ThreadCosts::own_ns, index) && cost != nullptr) {
      AddTask(TaskKind::kHost, cost->typical, StringId::kEmpty);
    }
  }

  void AddOwn(const Frame& frame, HostPart part) {
    AddHost(part, BaseName(trace_.Text(calls_[frame.call].name)), frame.launches);
  }

  void AddLaunch(std::string_view name, double cost_ns, std::span<const QueuedKernel> kernels) {
    Program& program = result_.recorded.program;
    const TaskId task = AddTask(TaskKind::kLaunch, cost_ns, program.strings.Intern(name));
    ++result_.recorded.coverage.launches;
    result_.recorded.coverage.operators_ns += cost_ns;
    for (const QueuedKernel& kernel : kernels) {
      result_.kernels.push_back(kernel);
      result_.kernels.back().launch = task;
    }
  }

  void AddWait(std::int64_t order, StringId name, RowId call, double cost_ns) {
    const std::string_view text = name == StringId::kEmpty ? kUsualWait : trace_.Text(name);
    const TaskId task =
        AddTask(TaskKind::kSynchronize, cost_ns, result_.recorded.program.strings.Intern(text));
    ++result_.recorded.coverage.waits;
    result_.recorded.coverage.operators_ns += cost_ns;
    result_.waits.push_back({order, task, call});
  }

  [[nodiscard]] bool IsKnown(std::vector<double> ThreadCosts::*column, std::uint32_t index) const {
    return costs_ != nullptr && (costs_->*column)[index] != ThreadCosts::kByModel;
  }

  void AddRecorded(double cost_ns) {
    AddTask(TaskKind::kHost, cost_ns, StringId::kEmpty);
    result_.recorded.coverage.program_ns += cost_ns;
    ++result_.recorded.coverage.lookups[static_cast<std::size_t>(HostCostSource::kRecorded)];
  }

  void AddHost(HostPart part, std::string_view name, bool launches, double times = 1) {
    const double cost_ns = Cost(part, name, launches) * times;
    AddTask(TaskKind::kHost, cost_ns, StringId::kEmpty);
    HostCoverage& coverage = result_.recorded.coverage;
    (IsOperatorPart(part) ? coverage.operators_ns : coverage.program_ns) += cost_ns;
  }

  TaskId AddTask(TaskKind kind, double duration_ns, StringId name) {
    Program& program = result_.recorded.program;
    const CallId call = open_.empty() ? kNone : open_.back().row;
    const TaskId task = program.tasks.Append({.lane = lane_,
                                              .kind = kind,
                                              .duration_ps = std::llround(duration_ns * 1000),
                                              .name = name,
                                              .call = call});
    if (call != kNone) {
      program.calls.first_task[call] = std::min(program.calls.first_task[call], task);
      program.calls.last_task[call] = task;
    }
    if (!top_calls_.empty()) {
      top_calls_.back().first = std::min(top_calls_.back().first, task);
      top_calls_.back().last = task;
    }
    if (is_paused_) {
      pauses_.back().after = task;
      is_paused_ = false;
    }
    last_task_ = task;
    return task;
  }

  // By the operator that launches, if that was recorded, or by the runtime call.
  [[nodiscard]] double LaunchCost(const Frame& caller, std::string_view launch) {
    const std::string_view name = BaseName(trace_.Text(calls_[caller.call].name));
    const bool is_known = calls_[caller.call].kind == CallKind::kOperator &&
                          host_.Find(HostPart::kLaunch, name) != nullptr;
    return Cost(HostPart::kLaunch, is_known ? name : launch, true);
  }

  [[nodiscard]] double UsualWaitCost() const {
    const HostCost* cost = host_.Find(HostPart::kSynchronize, HostModel::kAll);
    return cost == nullptr ? 0 : cost->typical;
  }

  [[nodiscard]] double Cost(HostPart part, std::string_view name, bool launches) {
    const HostAnswer answer = host_.Get(part, name, launches);
    ++result_.recorded.coverage.lookups[static_cast<std::size_t>(answer.source)];
    return answer.value;
  }

  [[nodiscard]] double num_parameters() const {
    return static_cast<double>(std::max<std::int64_t>(1, step_.num_parameters));
  }

  const trace::Trace& trace_;
  const CallTree& step_;
  const HostModel& host_;
  const WorkOfCall& work_;
  WalkResult& result_;
  const ThreadCosts* costs_;
  const ThreadCalls* thread_ = nullptr;
  std::span<const Call> calls_;
  std::span<const std::int64_t> turns_;
  LaneId lane_ = kNone;
  bool is_backward_ = false;
  std::vector<Frame> open_;
  std::vector<TopCall> top_calls_;
  std::vector<Pause> pauses_;
  TaskId last_task_ = kNone;
  bool is_paused_ = false;  // the next task ends the last pause
};

}  // namespace orrery::workload
