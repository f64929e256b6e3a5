#pragma once

#include <mutex>

#include "orrery/analyze/graph/dependency_graph.h"

namespace orrery::analyze {

struct RunView;

/// Keeps the graph of a run, so that metrics which need it build it once. Thread-safe.
class GraphHolder {
 public:
  [[nodiscard]] const DependencyGraph& Get(const RunView& run) {
    std::call_once(built_, [&] { graph_ = BuildGraph(run); });
    return graph_;
  }

 private:
  std::once_flag built_;
  DependencyGraph graph_;
};

/// Returns the graph of a run made by ViewRun; builds it on first use.
[[nodiscard]] const DependencyGraph& GraphOf(const RunView& run);

}  // namespace orrery::analyze
