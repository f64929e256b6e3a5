#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

enum class CallKind : std::uint8_t {
  kRoot,        // a thread
  kAnnotation,  // a range that people named
  kOperator,
  kLaunch,       // hands work to the GPU
  kSynchronize,  // waits for the GPU
};

/// One call of a host thread. Children follow their parent, in order of begin.
struct Call {
  CallKind kind = CallKind::kOperator;
  StringId name = StringId::kEmpty;
  RowId row = kNoRow;          // HostOps, Annotations, RuntimeCalls or GraphNodes; Tracks of a root
  std::int64_t begin_ns = -1;  // in a recording; the id in a graph, which counts in order of begin
  std::int64_t duration_ns = 0;
  std::uint32_t num_descendants = 0;  // they are the next ones in the list
  bool is_forward = false;            // an operator whose result autograd can differentiate
  bool is_differentiated = false;     // a node whose calls compute a gradient to be differentiated
};

/// The work of one host thread: its calls in order of begin, parents before their children. The
/// first is the thread itself.
struct ThreadCalls {
  std::int64_t thread = 0;
  bool runs_backward = false;  // it is the thread of an autograd engine
  std::vector<Call> calls;
};

/// The work of the host in one step, thread by thread; the thread that began first comes first.
struct CallTree {
  std::vector<ThreadCalls> threads;
  std::int64_t num_parameters = 0;  // tensors that got a gradient
};

/// The steps of a recording, each cut out by its marker; the whole recording when it has none.
/// Runtime calls that neither launch nor wait are left out: they count as their operator's time.
[[nodiscard]] std::vector<CallTree> RecordedSteps(const trace::Trace& recording);

/// The steps of an execution trace, each cut out by its ProfilerStep# marker. Of a trace without
/// them, what is between the calls of optimizers that end steps (optimizer_steps.h); the whole
/// trace where it holds one step. Graphs have no launches.
[[nodiscard]] Result<std::vector<CallTree>> GraphSteps(const trace::Trace& graph);

/// The one that stands for all: neither the first, which the profiler may disturb, nor the last.
[[nodiscard]] inline const CallTree& MiddleStep(std::span<const CallTree> steps) {
  return steps[steps.size() / 2];
}

/// Calls `visit(index)` for each child of call `parent`, in order.
template <typename Visit>
void ForEachChild(std::span<const Call> calls, std::uint32_t parent, Visit&& visit) {
  const std::uint32_t end = parent + 1 + calls[parent].num_descendants;
  for (std::uint32_t child = parent + 1; child < end; child += 1 + calls[child].num_descendants) {
    visit(child);
  }
}

/// Returns true if the program makes a call, and not the operator it is in: a node of the backward
/// pass that recomputes activations, or runs a hook, runs the program's code. Where gradients are
/// differentiated again (create_graph, torch.func.grad), its own calls look like those, as those of
/// the nodes beside it; a node that recomputes has others, or is alone.
[[nodiscard]] inline bool IsRecomputed(const ThreadCalls& thread, const Call& parent,
                                       const Call& call) {
  return thread.runs_backward && parent.kind == CallKind::kOperator && call.is_forward &&
         !parent.is_forward && !parent.is_differentiated;
}

/// The number of calls that a call makes itself.
[[nodiscard]] inline std::int64_t NumChildren(std::span<const Call> calls, std::uint32_t parent) {
  std::int64_t count = 0;
  ForEachChild(calls, parent, [&](std::uint32_t) { ++count; });
  return count;
}

/// Returns true if a call is a node of the backward pass. Other calls of an engine's thread are the
/// program's own: activations that are recomputed, hooks.
[[nodiscard]] bool IsBackwardNode(const trace::Trace& trace, const Call& call);

/// Returns true if a runtime call of that name launches GPU work: kernels, copies, sets, graphs.
[[nodiscard]] bool IsLaunchName(std::string_view name);

/// The places where the profiler's cost of an event is observed: a share inside the event's own
/// time, the rest around it, half before and half after. Operators that only change a view take 1.3
/// µs in all when recorded, which bounds the share inside; launches contain more of theirs, because
/// the profiler's hook runs inside the call. A launch costs the profiler half as much as an
/// operator, whose input shapes it records.
struct ProfilerShare {
  double inside = 0;
  double before = 0;  // as much follows the call
};

[[nodiscard]] constexpr ProfilerShare ProfilerShareOf(CallKind kind) {
  switch (kind) {
    case CallKind::kRoot:
      return {};
    case CallKind::kLaunch:
    case CallKind::kSynchronize:
      return {.inside = 0.5 * 0.5, .before = (1 - 0.5) * 0.5 / 2};
    default:
      return {.inside = 0.4, .before = (1 - 0.4) / 2};
  }
}

}  // namespace orrery::workload
