#include "orrery/workload/recorded/graph_prices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/statistics.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/row_index.h"
#include "orrery/workload/recorded/priced_calls.h"

namespace orrery::workload {
namespace {

using kernel::Operator;
using trace::Trace;

/// Large GPUs have their cache in two halves, and what processors of both read is kept in both.
constexpr double kUsableShareOfCache = 0.5;

Bytes UsableCache(const hardware::Gpu& gpu) {
  return {std::llround(kUsableShareOfCache * static_cast<double>(gpu.last_level_cache.count))};
}

std::int64_t LaunchesOf(const HostModel& host, std::string_view name) {
  const HostCost* launches = host.Find(HostPart::kLaunches, name);
  return launches == nullptr ? 0 : std::llround(launches->typical);
}

/// The runtime call that launches an operator; empty for the usual one. A plain copy is no kernel.
std::string_view LaunchCallOf(const Operator& op) {
  const bool is_plain_copy = op.kind() == kernel::OperatorKind::kCopy &&
                             op.Word(kernel::Key::kMode) == "contiguous" &&
                             op.Word(kernel::Key::kTo) == "same";
  return is_plain_copy || op.kind() == kernel::OperatorKind::kMemcpy ? "cudaMemcpyAsync" : "";
}

std::string LaunchCallOf(const Trace& linked, RowId activity) {
  const RowId call = linked.activities.launch[activity];
  return call == kNoRow ? "" : std::string(linked.Text(linked.runtime_calls.name[call]));
}

/// How many launches each node of a priced call makes.
struct LaunchPlan {
  std::vector<std::pair<RowId, std::int64_t>> launches_of_node;
  std::int64_t total = 0;
};

class GraphPricer {
 public:
  GraphPricer(const Trace& graph, const HostModel& host) : graph_(graph), host_(host) {
    prices_.tasks_of_node.resize(graph.graph_nodes.size());
    owner_.assign(graph.graph_nodes.size(), kNoRow);
  }

  GraphPrices Price(const hardware::Gpu& gpu, const kernel::CostModel& costs) {
    const std::vector<PricedCall> calls = PricedCalls(graph_);
    const std::vector<kernel::Estimate> cold = Estimate(calls, false, gpu, costs);
    const std::vector<kernel::Estimate> warm = Estimate(calls, true, gpu, costs);
    const std::vector<double> shares = WarmShares(graph_, calls, UsableCache(gpu));
    FindOwners(calls);
    std::size_t next = 0;
    for (std::size_t index = 0; index < calls.size(); ++index) {
      const PricedCall& call = calls[index];
      double seconds = 0;
      for (std::size_t i = 0; i < call.operators.size(); ++i, ++next) {
        seconds += (1 - shares[index]) * Count(cold[next]) + shares[index] * warm[next].seconds;
      }
      Note(call);
      AddTasks(call, seconds);
    }
    return std::move(prices_);
  }

 private:
  static std::vector<kernel::Estimate> Estimate(const std::vector<PricedCall>& calls, bool warm,
                                                const hardware::Gpu& gpu,
                                                const kernel::CostModel& costs) {
    std::vector<Operator> operators;
    for (const PricedCall& call : calls) {
      operators.insert(operators.end(), call.operators.begin(), call.operators.end());
    }
    for (Operator& op : operators) {
      op.set_warm(warm);
    }
    std::vector<kernel::Estimate> estimates(operators.size());
    costs.Predict(operators, gpu, estimates);
    return estimates;
  }

  double Count(const kernel::Estimate& estimate) {
    ++prices_.summary.operators[static_cast<std::size_t>(estimate.source)];
    prices_.summary.extrapolated += estimate.is_extrapolated ? 1 : 0;
    return estimate.seconds;
  }

  void Note(const PricedCall& call) {
    ++prices_.summary.calls;
    if (call.meaning != kernel::AtenMeaning::kUnknown) {
      return;
    }
    ++prices_.summary.unknown_calls;
    std::string name(graph_.Text(graph_.graph_nodes.name[call.node]));
    if (std::find(prices_.unknown_names.begin(), prices_.unknown_names.end(), name) ==
        prices_.unknown_names.end()) {
      prices_.unknown_names.push_back(std::move(name));
    }
  }

  // Marks the nodes below each priced call; rows are in order of begin, parents first.
  void FindOwners(const std::vector<PricedCall>& calls) {
    for (const PricedCall& call : calls) {
      owner_[call.node] = call.node;
    }
    members_.resize(owner_.size());
    for (RowId node = 0; node < owner_.size(); ++node) {
      const RowId parent = graph_.graph_nodes.parent[node];
      if (owner_[node] == kNoRow && parent != kNoRow && parent < node) {
        owner_[node] = owner_[parent];
      }
      if (owner_[node] != kNoRow) {
        members_[owner_[node]].push_back(node);
      }
    }
  }

  [[nodiscard]] LaunchPlan PlanOf(const PricedCall& call) const {
    LaunchPlan plan;
    for (const RowId node : members_[call.node]) {
      const std::int64_t launches = LaunchesOf(host_, graph_.Text(graph_.graph_nodes.name[node]));
      if (launches > 0) {
        plan.launches_of_node.emplace_back(node, launches);
        plan.total += launches;
      }
    }
    const bool is_known =
        host_.Find(HostPart::kLaunches, graph_.Text(graph_.graph_nodes.name[call.node])) != nullptr;
    const std::int64_t missing = is_known && plan.total > 0 ? 0 : Measured(call) - plan.total;
    if (missing > 0) {
      plan.launches_of_node.emplace_back(call.node, missing);
      plan.total += missing;
    }
    return plan;
  }

  // What the operators launched when they were measured; one each where nobody measured.
  [[nodiscard]] std::int64_t Measured(const PricedCall& call) const {
    std::int64_t launches = 0;
    for (const Operator& op : call.operators) {
      launches += std::max<std::int64_t>(1, LaunchesOf(host_, LaunchesName(op)));
    }
    return launches;
  }

  void AddTasks(const PricedCall& call, double seconds) {
    if (call.operators.empty()) {
      return;
    }
    const LaunchPlan plan = PlanOf(call);
    const std::int64_t total_ps = std::llround(seconds * 1e12);
    const std::string name = kernel::Text(call.operators.front());
    const std::string launch(LaunchCallOf(call.operators.front()));
    std::int64_t done = 0;
    for (const auto& [node, launches] : plan.launches_of_node) {
      for (std::int64_t i = 0; i < launches; ++i, ++done) {
        const std::int64_t from_ps = total_ps * done / plan.total;
        const std::int64_t to_ps = total_ps * (done + 1) / plan.total;
        prices_.tasks_of_node[node].push_back({to_ps - from_ps, name, launch});
      }
    }
  }

  const Trace& graph_;
  const HostModel& host_;
  GraphPrices prices_;
  std::vector<RowId> owner_;                 // the priced call that a node belongs to
  std::vector<std::vector<RowId>> members_;  // the nodes of a priced call
};

}  // namespace

GraphPrices PriceGraph(const Trace& graph, const hardware::Gpu& gpu, const kernel::CostModel& costs,
                       const HostModel& host) {
  return GraphPricer(graph, host).Price(gpu, costs);
}

GraphPrices RecordedPrices(const Trace& linked) {
  GraphPrices prices;
  prices.tasks_of_node.resize(linked.graph_nodes.size());
  const trace::RowIndex activities(linked.activities.host_op);
  for (RowId node = 0; node < linked.graph_nodes.size(); ++node) {
    const RowId host_op = linked.graph_nodes.host_op[node];
    if (host_op == kNoRow) {
      continue;
    }
    for (RowId row = activities.First(host_op); row != kNoRow; row = activities.Next(row)) {
      prices.tasks_of_node[node].push_back({linked.activities.duration_ns[row] * 1000,
                                            std::string(linked.Text(linked.activities.name[row])),
                                            LaunchCallOf(linked, row)});
    }
    prices.summary.calls += prices.tasks_of_node[node].empty() ? 0 : 1;
  }
  return prices;
}

std::string LaunchesName(const Operator& op) {
  const kernel::Schema& schema = kernel::SchemaOf(op.kind());
  return schema.IndexOf(kernel::Key::kPass)
             ? fmt::format("{} {}", schema.name, op.Word(kernel::Key::kPass))
             : std::string(schema.name);
}

Result<std::int64_t> AddMeasuredLaunches(const Table& measured, HostModel& model) {
  std::map<std::string, std::vector<double>> launches_of_name;
  std::int64_t num_unknown = 0;
  for (std::size_t row = 0; row < measured.num_rows(); ++row) {
    const auto text = measured.Text(row, "operator");
    const auto kernels = measured.Number(row, "kernels");
    if (!text || !kernels) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("line {}: no 'operator' or no 'kernels'", row + 2));
    }
    const Result<Operator> op = kernel::ParseOperator(*text);
    if (op) {
      launches_of_name[LaunchesName(*op)].push_back(*kernels);
    } else {
      ++num_unknown;
    }
  }
  for (const auto& [name, values] : launches_of_name) {
    const double median = Median(values);
    HostCost cost{
        .typical = median, .mean = Mean(values), .count = static_cast<std::int64_t>(values.size())};
    constexpr std::array<double, 5> kShares{0.1, 0.25, 0.5, 0.75, 0.9};
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      cost.quantiles[i] = Quantile(values, kShares[i]);
    }
    model.Set(HostPart::kLaunches, name, cost);
  }
  return num_unknown;
}

}  // namespace orrery::workload
