#include "orrery/workload/recorded/optimizer_steps.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using trace::Trace;

bool IsOptimizerStep(std::string_view name) {
  return name.starts_with("Optimizer.step#");
}

// An optimizer whose step calls that of another one steps once.
bool IsInsideOptimizer(const Trace& graph, RowId node) {
  for (RowId parent = graph.graph_nodes.parent[node]; parent != kNoRow;
       parent = graph.graph_nodes.parent[parent]) {
    if (IsOptimizerStep(graph.Text(graph.graph_nodes.name[parent]))) {
      return true;
    }
  }
  return false;
}

std::int64_t GreatestDivisor(const std::map<StringId, std::int64_t>& counts) {
  std::int64_t divisor = 0;
  for (const auto& [name, count] : counts) {
    divisor = std::gcd(divisor, count);
  }
  return divisor;
}

// Calls in a step of the profile; 0 where there is none, or where its steps differ.
std::int64_t ProfiledCallsOfStep(const Trace& recording) {
  std::int64_t of_step = 0;
  for (RowId step = 0; step < recording.steps.size(); ++step) {
    const std::int64_t begin_ns = recording.steps.begin_ns[step];
    const std::int64_t end_ns = begin_ns + recording.steps.duration_ns[step];
    std::int64_t calls = 0;
    std::int64_t last_end_ns = begin_ns;
    for (RowId row = 0; row < recording.annotations.size(); ++row) {
      const std::int64_t at_ns = recording.annotations.begin_ns[row];
      if (at_ns >= last_end_ns && at_ns < end_ns &&
          recording.annotations.kind[row] == trace::AnnotationKind::kHost &&
          IsOptimizerStep(recording.Text(recording.annotations.name[row]))) {
        ++calls;
        last_end_ns = at_ns + recording.annotations.duration_ns[row];
      }
    }
    if (calls == 0 || (of_step != 0 && calls != of_step)) {
      return 0;
    }
    of_step = calls;
  }
  return of_step;
}

}  // namespace

std::vector<std::int64_t> OptimizerStepEnds(const Trace& graph) {
  std::vector<std::int64_t> calls;
  std::map<StringId, std::int64_t> calls_of_optimizer;
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    const StringId name = graph.graph_nodes.name[node];
    if (IsOptimizerStep(graph.Text(name)) && !IsInsideOptimizer(graph, node)) {
      calls.push_back(graph.graph_nodes.id[node]);
      ++calls_of_optimizer[name];
    }
  }
  std::ranges::sort(calls);
  const auto num_calls = static_cast<std::int64_t>(calls.size());
  if (num_calls < 2) {
    return calls;
  }
  const std::int64_t profiled = ProfiledCallsOfStep(graph);
  const std::int64_t of_step = profiled > 0 && num_calls % profiled == 0
                                   ? profiled
                                   : num_calls / GreatestDivisor(calls_of_optimizer);
  std::vector<std::int64_t> ends;
  for (std::int64_t last = of_step - 1; last < num_calls; last += of_step) {
    ends.push_back(calls[static_cast<std::size_t>(last)]);
  }
  return ends;
}

}  // namespace orrery::workload
