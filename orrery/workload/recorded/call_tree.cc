#include "orrery/workload/recorded/call_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/optimizer_steps.h"

namespace orrery::workload {
namespace {

using trace::Trace;

struct Window {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

/// Calls with their thread, before they are nested.
using CallsOfThread = std::map<std::int64_t, std::vector<Call>>;

// Fills num_descendants by nesting in time; calls are in order of begin, longer first.
void NestByTime(std::vector<Call>& calls) {
  std::vector<std::size_t> open;
  const auto close = [&](std::size_t end) {
    calls[open.back()].num_descendants = static_cast<std::uint32_t>(end - open.back() - 1);
    open.pop_back();
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    while (!open.empty() && calls[open.back()].kind != CallKind::kRoot &&
           calls[open.back()].begin_ns + calls[open.back()].duration_ns <= calls[i].begin_ns) {
      close(i);
    }
    open.push_back(i);
  }
  while (!open.empty()) {
    close(calls.size());
  }
}

Call RootOf(std::int64_t begin_ns) {
  return {.kind = CallKind::kRoot, .begin_ns = begin_ns};
}

/// Returns true if a thread is an autograd engine's: it begins with the backward pass, or does
/// little else. The thread that waits for the engine runs nodes of the host itself, here and there.
bool RunsBackward(const Trace& trace, const std::vector<Call>& calls) {
  std::size_t num_backward = 0;
  std::size_t num_calls = 0;
  bool begins_backward = false;
  ForEachChild(std::span(calls), 0, [&](std::uint32_t call) {
    const bool is_backward = IsBackwardNode(trace, calls[call]);
    begins_backward |= is_backward && num_calls == 0;
    num_backward += is_backward ? 1 : 0;
    ++num_calls;
  });
  return begins_backward || 2 * num_backward > num_calls;
}

/// The number of backward passes: a call of another thread between two of its calls ends a pass.
/// With gradients accumulated over micro-batches there are several in a step.
std::int64_t NumBackwardPasses(const Trace& trace, const std::vector<ThreadCalls>& threads) {
  std::vector<std::pair<std::int64_t, bool>> begins;  // and whether that is of the backward pass
  for (const ThreadCalls& thread : threads) {
    for (std::size_t i = 1; i < thread.calls.size(); ++i) {
      const Call& call = thread.calls[i];
      const bool is_node = IsBackwardNode(trace, call);
      begins.emplace_back(call.begin_ns, thread.runs_backward || is_node);
      i += is_node ? call.num_descendants : 0;
    }
  }
  std::ranges::sort(begins);
  std::int64_t passes = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    passes += begins[i].second && (i == 0 || !begins[i - 1].second) ? 1 : 0;
  }
  return std::max<std::int64_t>(1, passes);
}

// "MulBackward0" is a node of the framework, "CheckpointFunctionBackward" one of a program.
bool IsGeneratedNode(const Trace& trace, const Call& call) {
  const std::string_view name = trace.Text(call.name);
  return name.find("Backward") != std::string_view::npos &&
         std::string_view("0123456789").find(name.back()) != std::string_view::npos;
}

/// A node of the framework that makes calls.
struct CallingNode {
  std::uint32_t index = 0;
  bool are_all_recorded = false;  // by autograd
};

// A node that runs inside its wrapper does not count as a call.
std::vector<CallingNode> CallingNodes(const Trace& trace, const std::vector<Call>& calls) {
  std::vector<CallingNode> nodes;
  for (std::uint32_t index = 1; index < calls.size(); ++index) {
    const Call& node = calls[index];
    if (node.kind != CallKind::kOperator || node.is_forward || !IsGeneratedNode(trace, node)) {
      continue;
    }
    bool has_forward = false;
    bool has_other = false;
    ForEachChild(std::span<const Call>(calls), index, [&](std::uint32_t child) {
      has_forward |= calls[child].is_forward;
      has_other |= calls[child].kind == CallKind::kOperator && !calls[child].is_forward &&
                   !IsGeneratedNode(trace, calls[child]);
    });
    if (has_forward || has_other) {
      nodes.push_back({.index = index, .are_all_recorded = !has_other});
    }
  }
  return nodes;
}

// Marks the nodes all of whose calls autograd can differentiate, as those beside them. Alone among
// others such a node recomputes activations: its formula is missing where recomputation stops
// early.
void MarkDifferentiated(const Trace& trace, std::vector<Call>& calls) {
  const std::vector<CallingNode> nodes = CallingNodes(trace, calls);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_beside = (i > 0 && nodes[i - 1].are_all_recorded) ||
                           (i + 1 < nodes.size() && nodes[i + 1].are_all_recorded);
    calls[nodes[i].index].is_differentiated = nodes[i].are_all_recorded && is_beside;
  }
}

// Threads in order of their first call, with what the names tell.
CallTree TreeOf(const Trace& trace, std::vector<ThreadCalls> threads) {
  CallTree tree{.threads = std::move(threads)};
  for (ThreadCalls& thread : tree.threads) {
    thread.runs_backward = RunsBackward(trace, thread.calls);
    MarkDifferentiated(trace, thread.calls);
    for (const Call& call : thread.calls) {
      tree.num_parameters += trace.Text(call.name) == "torch::autograd::AccumulateGrad" ? 1 : 0;
    }
  }
  tree.num_parameters /= NumBackwardPasses(trace, tree.threads);
  std::ranges::stable_sort(tree.threads, {},
                           [](const ThreadCalls& thread) { return thread.calls[1].begin_ns; });
  return tree;
}

// Adds the rows of a table that begin in the window, as the kind that `kind_of` gives; nothing
// leaves a row out. Rows are in order of begin, so that many steps need not look at all of them.
template <typename Table, typename KindOf>
void Collect(const Table& table, const Window& window, const KindOf& kind_of,
             CallsOfThread& calls) {
  const auto row_at = [&](std::int64_t at_ns) {
    return static_cast<RowId>(std::ranges::lower_bound(table.begin_ns, at_ns) -
                              table.begin_ns.begin());
  };
  const RowId end = row_at(window.end_ns);
  for (RowId row = row_at(window.begin_ns); row < end; ++row) {
    if (const std::optional<CallKind> kind = kind_of(row)) {
      calls[table.track[row]].push_back({.kind = *kind,
                                         .name = table.name[row],
                                         .row = row,
                                         .begin_ns = table.begin_ns[row],
                                         .duration_ns = table.duration_ns[row]});
    }
  }
}

bool IsSynchronizeName(std::string_view name) {
  return name == "cudaStreamSynchronize" || name == "cudaDeviceSynchronize" ||
         name == "cudaEventSynchronize" || name == "hipStreamSynchronize" ||
         name == "hipDeviceSynchronize" || name == "hipEventSynchronize";
}

CallTree RecordedStep(const Trace& trace, const Window& window) {
  using MaybeKind = std::optional<CallKind>;
  CallsOfThread calls_of_thread;
  Collect(
      trace.host_ops, window, [](RowId) { return MaybeKind(CallKind::kOperator); },
      calls_of_thread);
  for (auto& [track, calls] : calls_of_thread) {
    for (Call& call : calls) {
      call.is_forward =
          trace.host_ops.sequence[call.row] >= 0 && trace.host_ops.forward_thread[call.row] <= 0;
    }
  }
  Collect(
      trace.annotations, window,
      [&](RowId row) {
        const bool is_host = trace.annotations.kind[row] == trace::AnnotationKind::kHost;
        return is_host ? MaybeKind(CallKind::kAnnotation) : std::nullopt;
      },
      calls_of_thread);
  Collect(
      trace.runtime_calls, window,
      [&](RowId row) -> MaybeKind {
        const std::string_view name = trace.Text(trace.runtime_calls.name[row]);
        if (trace.runtime_calls.parent[row] != kNoRow) {
          return std::nullopt;  // a driver call inside a runtime call is that call's own work
        }
        const MaybeKind wait =
            IsSynchronizeName(name) ? MaybeKind(CallKind::kSynchronize) : std::nullopt;
        return IsLaunchName(name) ? MaybeKind(CallKind::kLaunch) : wait;
      },
      calls_of_thread);
  std::vector<ThreadCalls> threads;
  for (auto& [track, calls] : calls_of_thread) {
    std::ranges::stable_sort(calls, {}, [](const Call& call) {
      return std::tuple(call.begin_ns, -call.duration_ns, call.kind);
    });
    calls.insert(calls.begin(), RootOf(calls.front().begin_ns));
    NestByTime(calls);
    const auto row = static_cast<RowId>(track);
    threads.push_back(
        {.thread = row == kNoRow ? 0 : trace.tracks.thread[row], .calls = std::move(calls)});
  }
  return TreeOf(trace, std::move(threads));
}

bool IsHostNode(const Trace& graph, RowId node) {
  const trace::GraphNodeKind kind = graph.graph_nodes.kind[node];
  return kind == trace::GraphNodeKind::kOperator || kind == trace::GraphNodeKind::kAnnotation;
}

/// The host nodes below each node (and, at kNoRow's place, without one), in order of id.
std::vector<std::vector<RowId>> ChildrenOf(const Trace& graph) {
  std::vector<std::vector<RowId>> children(graph.graph_nodes.size() + 1);
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    const RowId parent = graph.graph_nodes.parent[node];
    if (IsHostNode(graph, node)) {
      children[parent == kNoRow ? graph.graph_nodes.size() : parent].push_back(node);
    }
  }
  return children;
}

// Parents before children, without recursion: a graph may be deep.
void AppendSubtree(const Trace& graph, const std::vector<std::vector<RowId>>& children, RowId root,
                   std::vector<Call>& calls) {
  std::vector<std::pair<RowId, std::size_t>> open;  // node, or its place once it is entered
  constexpr std::size_t kToEnter = std::numeric_limits<std::size_t>::max();
  open.emplace_back(root, kToEnter);
  while (!open.empty()) {
    auto& [node, place] = open.back();
    if (place != kToEnter) {
      calls[place].num_descendants = static_cast<std::uint32_t>(calls.size() - place - 1);
      open.pop_back();
      continue;
    }
    place = calls.size();
    const RowId entered = node;
    calls.push_back({.kind = graph.graph_nodes.kind[entered] == trace::GraphNodeKind::kAnnotation
                                 ? CallKind::kAnnotation
                                 : CallKind::kOperator,
                     .name = graph.graph_nodes.name[entered],
                     .row = entered,
                     .begin_ns = graph.graph_nodes.id[entered],
                     .is_forward = graph.graph_nodes.sequence[entered] >= 0 &&
                                   graph.graph_nodes.forward_thread[entered] <= 0});
    for (std::size_t i = children[entered].size(); i > 0; --i) {
      open.emplace_back(children[entered][i - 1], kToEnter);
    }
  }
}

/// The ids of the nodes that mark the begin of a step.
std::vector<std::int64_t> StepMarkers(const Trace& graph) {
  std::vector<std::int64_t> ids;
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    if (graph.graph_nodes.kind[node] == trace::GraphNodeKind::kAnnotation &&
        graph.Text(graph.graph_nodes.name[node]).starts_with("ProfilerStep#")) {
      ids.push_back(graph.graph_nodes.id[node]);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

bool IsRoot(const Trace& graph, RowId node) {
  const RowId parent = graph.graph_nodes.parent[node];
  return IsHostNode(graph, node) && (parent == kNoRow || !IsHostNode(graph, parent));
}

/// The nodes that no other calls, by the marker before them: ids count in order of begin over all
/// threads.
std::vector<std::vector<RowId>> RootsByMarker(const Trace& graph,
                                              const std::vector<std::int64_t>& markers) {
  std::vector<std::vector<RowId>> roots(markers.size());
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    const auto next = std::ranges::upper_bound(markers, graph.graph_nodes.id[node]);
    if (IsRoot(graph, node) && next != markers.begin()) {
      roots[static_cast<std::size_t>(next - markers.begin()) - 1].push_back(node);
    }
  }
  return roots;
}

/// The same between the calls that end steps: what is before the first of them and after the last
/// need not be a whole step. With one of them or none, all is one step.
std::vector<std::vector<RowId>> RootsByEnd(const Trace& graph,
                                           const std::vector<std::int64_t>& ends) {
  std::vector<std::vector<RowId>> roots(std::max<std::size_t>(ends.size(), 2) - 1);
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    const auto end = std::ranges::lower_bound(ends, graph.graph_nodes.id[node]);
    if (!IsRoot(graph, node)) {
      continue;
    }
    if (ends.size() < 2) {
      roots[0].push_back(node);
    } else if (end != ends.begin() && end != ends.end()) {
      roots[static_cast<std::size_t>(end - ends.begin()) - 1].push_back(node);
    }
  }
  return roots;
}

CallTree GraphStep(const Trace& graph, const std::vector<std::vector<RowId>>& children,
                   const std::vector<RowId>& roots) {
  std::map<std::int32_t, ThreadCalls> threads;
  for (const RowId node : roots) {
    ThreadCalls& thread = threads[graph.graph_nodes.thread[node]];
    thread.thread = graph.graph_nodes.thread[node];
    if (thread.calls.empty()) {
      thread.calls.push_back(RootOf(graph.graph_nodes.id[node]));
    }
    AppendSubtree(graph, children, node, thread.calls);
  }
  std::vector<ThreadCalls> list;
  for (auto& [number, thread] : threads) {
    thread.calls[0].num_descendants = static_cast<std::uint32_t>(thread.calls.size() - 1);
    list.push_back(std::move(thread));
  }
  return TreeOf(graph, std::move(list));
}

}  // namespace

bool IsBackwardNode(const Trace& trace, const Call& call) {
  return trace.Text(call.name).starts_with("autograd::engine::evaluate_function");
}

bool IsLaunchName(std::string_view name) {
  const auto prefixes = {"cudaLaunch",   "cuLaunch",           "cudaGraphLaunch", "cuGraphLaunch",
                         "cudaMemcpy",   "cudaMemset",         "cuMemcpy",        "cuMemset",
                         "hipLaunch",    "hipGraphLaunch",     "hipMemcpy",       "hipMemset",
                         "hipExtLaunch", "hipExtModuleLaunch", "hipModuleLaunch"};
  return std::ranges::any_of(prefixes,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

std::vector<CallTree> RecordedSteps(const Trace& recording) {
  std::vector<CallTree> steps;
  for (RowId step = 0; step < recording.steps.size(); ++step) {
    const std::int64_t begin_ns = recording.steps.begin_ns[step];
    CallTree tree =
        RecordedStep(recording, {begin_ns, begin_ns + recording.steps.duration_ns[step]});
    if (!tree.threads.empty()) {
      steps.push_back(std::move(tree));
    }
  }
  if (steps.empty()) {
    steps.push_back(RecordedStep(recording, {}));
  }
  return steps;
}

Result<std::vector<CallTree>> GraphSteps(const Trace& graph) {
  const std::vector<std::int64_t> markers = StepMarkers(graph);
  const auto roots_of_step =
      markers.empty() ? RootsByEnd(graph, OptimizerStepEnds(graph)) : RootsByMarker(graph, markers);
  const auto children = ChildrenOf(graph);
  std::vector<CallTree> steps;
  for (const std::vector<RowId>& roots : roots_of_step) {
    steps.push_back(GraphStep(graph, children, roots));
  }
  return steps;
}

}  // namespace orrery::workload
