#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host_model.h"
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

/// What a call hands to the GPU, found for a launch of a recording or a node of a graph.
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

/// What the walks over all threads share.
struct WalkResult {
  RecordedProgram recorded;
  std::vector<QueuedKernel> kernels;
  std::vector<QueuedWait> waits;
};

/// Walks the calls of one thread and appends its host tasks, priced by the model; or, where costs
/// are known place by place, by those.
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
  void Walk(const ThreadCalls& thread, std::span<const std::int64_t> turns);

  [[nodiscard]] const std::vector<TopCall>& top_calls() const { return top_calls_; }

  [[nodiscard]] const std::vector<Pause>& pauses() const { return pauses_; }

 private:
  struct Frame {
    std::uint32_t call = 0;
    std::uint32_t end = 0;
    CallId row = kNone;
    std::uint32_t num_calls = 0;  // made so far
    bool launches = false;
    bool walks_list = false;
    CallWork work = {};
  };

  void Enter(std::uint32_t index);
  void EnterChild(std::uint32_t index);
  void Open(std::uint32_t index);
  void Leave();
  void LeaveOperator(Frame& frame);
  void LeaveAnnotation(const Frame& frame);
  void NoteTurns(std::int64_t order);
  void AddGap(const Frame& parent, const Call& call);
  void AddOwn(const Frame& frame, HostPart part);
  void AddLaunch(std::string_view name, double cost_ns, std::span<const QueuedKernel> kernels);
  void AddWait(std::int64_t order, StringId name, RowId call, double cost_ns);
  void AddHost(HostPart part, std::string_view name, bool launches, double times = 1);
  TaskId AddTask(TaskKind kind, double duration_ns, StringId name);
  [[nodiscard]] double LaunchCost(std::uint32_t index);
  [[nodiscard]] double WaitCost(std::uint32_t index) const;
  [[nodiscard]] double UsualWaitCost() const;
  [[nodiscard]] double Cost(HostPart part, std::string_view name, bool launches);
  [[nodiscard]] bool LaunchesItself(std::uint32_t index) const;
  [[nodiscard]] double num_parameters() const;

  const trace::Trace& trace_;
  const CallTree& step_;
  const HostModel& host_;
  const WorkOfCall& work_;
  WalkResult& result_;
  const ThreadCosts* costs_;
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
