#include "orrery/workload/recorded/graph_prices.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/recorded_call.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/input.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/priced_calls.h"

namespace orrery::workload {
namespace {

using kernel::Operator;
using trace::Trace;

/// Large GPUs have their cache in two halves, and what processors of both read is kept in both.
constexpr double kUsableShareOfCache = 0.5;

void AddOnce(std::string_view name, std::vector<std::string>& names) {
  if (std::ranges::find(names, name) == names.end()) {
    names.emplace_back(name);
  }
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

bool IsFp32Product(const Operator& op) {
  return kernel::IsGemm(op.kind()) && op.type() == DataType::kFp32;
}

double Seconds(std::span<const kernel::Operator> operators, const kernel::CostModel& costs,
               const hardware::Gpu& gpu) {
  std::vector<kernel::Estimate> estimates(operators.size());
  costs.Predict(operators, gpu, estimates);
  double seconds = 0;
  for (const kernel::Estimate& estimate : estimates) {
    seconds += estimate.seconds;
  }
  return seconds;
}

class GraphPricer {
 public:
  GraphPricer(const Trace& graph, const CallTree& step, const HostModel& host, bool allow_tf32)
      : graph_(graph),
        host_(host),
        allow_tf32_(allow_tf32 || ProductsRanInTf32(graph)),
        is_in_step_(graph.graph_nodes.size()) {
    prices_.tasks_of_node.resize(graph.graph_nodes.size());
    owner_.assign(graph.graph_nodes.size(), kNoRow);
    for (const ThreadCalls& thread : step.threads) {
      for (const Call& call : thread.calls) {
        if (call.kind != CallKind::kRoot) {
          is_in_step_[call.row] = 1;
        }
      }
    }
  }

  GraphPrices Price(const hardware::Gpu& gpu, const kernel::CostModel& costs) {
    const std::vector<PricedCall> calls = PricedCalls(graph_, allow_tf32_);
    const std::vector<kernel::Estimate> cold = Estimate(calls, false, gpu, costs);
    const std::vector<kernel::Estimate> warm = Estimate(calls, true, gpu, costs);
    const auto cache = static_cast<double>(gpu.last_level_cache.count);
    const std::vector<double> shares =
        WarmShares(graph_, calls, {std::llround(kUsableShareOfCache * cache)});
    FindOwners(calls);
    std::size_t next = 0;
    for (std::size_t index = 0; index < calls.size(); ++index) {
      const PricedCall& call = calls[index];
      PricingSummary priced{.calls = 1};
      for (std::size_t i = 0; i < call.operators->size(); ++i, ++next) {
        const double seconds =
            (1 - shares[index]) * cold[next].seconds + shares[index] * warm[next].seconds;
        AddOperator(call, cold[next], seconds, priced);
        priced.fp32_products_s += IsFp32Product((*call.operators)[i]) ? seconds : 0;
      }
      AddTasks(call, TimesOfLaunches(call, LaunchingNodes(call), priced.seconds, gpu, costs));
      if (is_in_step_[call.node] != 0) {
        Note(call, priced);
      }
    }
    return std::move(prices_);
  }

 private:
  static std::vector<kernel::Estimate> Estimate(const std::vector<PricedCall>& calls, bool warm,
                                                const hardware::Gpu& gpu,
                                                const kernel::CostModel& costs) {
    std::vector<Operator> operators;
    for (const PricedCall& call : calls) {
      operators.insert(operators.end(), call.operators->begin(), call.operators->end());
    }
    for (Operator& op : operators) {
      op.set_warm(warm);
    }
    std::vector<kernel::Estimate> estimates(operators.size());
    costs.Predict(operators, gpu, estimates);
    return estimates;
  }

  static void AddOperator(const PricedCall& call, const kernel::Estimate& estimate, double seconds,
                          PricingSummary& priced) {
    const bool has_no_model = call.meaning == kernel::AtenMeaning::kUnknown ||
                              estimate.source == kernel::EstimateSource::kRoofline;
    priced.by_bytes_s += call.meaning == kernel::AtenMeaning::kMeasured ? seconds : 0;
    ++priced.operators[static_cast<std::size_t>(estimate.source)];
    priced.extrapolated += estimate.is_extrapolated ? 1 : 0;
    priced.seconds += seconds;
    priced.unmodelled_s += has_no_model ? seconds : 0;
  }

  void Note(const PricedCall& call, PricingSummary& priced) {
    if (call.meaning == kernel::AtenMeaning::kMeasured) {
      AddOnce(graph_.Text(graph_.graph_nodes.name[call.node]), prices_.measured_names);
    }
    if (call.meaning == kernel::AtenMeaning::kUnknown) {
      priced.unknown_calls = 1;
      AddOnce(graph_.Text(graph_.graph_nodes.name[call.node]), prices_.unknown_names);
    }
    prices_.summary.Add(priced);
  }

  // Marks the nodes below each estimated call; rows are in order of begin, parents first.
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

  // The node of each launch of an estimated call.
  [[nodiscard]] std::vector<RowId> LaunchingNodes(const PricedCall& call) const {
    std::vector<RowId> nodes;
    const auto add = [&](RowId node, std::int64_t launches) {
      nodes.insert(nodes.end(), static_cast<std::size_t>(std::max<std::int64_t>(launches, 0)),
                   node);
    };
    // Kernels that were measured for a name are its own; calls below have theirs.
    if (call.meaning != kernel::AtenMeaning::kMeasured) {
      for (const RowId node : members_[call.node]) {
        add(node, LaunchesOf(host_, graph_.Text(graph_.graph_nodes.name[node])));
      }
    }
    if (call.launches > 0) {
      std::erase(nodes, call.node);
      add(call.node, call.launches);
      return nodes;
    }
    const bool is_known =
        host_.Find(HostPart::kLaunches, graph_.Text(graph_.graph_nodes.name[call.node])) != nullptr;
    // Those of calls below may only clear memory for it.
    if (!is_known || nodes.empty()) {
      add(call.node, std::max<std::int64_t>(Measured(call) - std::ssize(nodes), 1));
    }
    return nodes;
  }

  // The launches of the operators when they were measured; one each without a measurement.
  [[nodiscard]] std::int64_t Measured(const PricedCall& call) const {
    std::int64_t launches = 0;
    for (const Operator& op : *call.operators) {
      launches += std::max<std::int64_t>(1, LaunchesOf(host_, LaunchesName(op)));
    }
    return launches;
  }

  struct Launch {
    RowId node = kNoRow;
    double seconds = 0;  // 0: not known alone
  };

  // The time of a call below alone; 0 if that is not known.
  [[nodiscard]] double AloneSeconds(RowId node, const hardware::Gpu& gpu,
                                    const kernel::CostModel& costs) const {
    const kernel::AtenOperators asked = kernel::OperatorsOf(kernel::CallOfNode(graph_, node));
    return asked.meaning == kernel::AtenMeaning::kPriced ? Seconds(asked.operators, costs, gpu) : 0;
  }

  // Calls below take what they would alone: the sum that is the gradient of a bias, memory that is
  // cleared. The other launches have equal parts of the rest.
  [[nodiscard]] std::vector<Launch> TimesOfLaunches(const PricedCall& call,
                                                    const std::vector<RowId>& nodes, double seconds,
                                                    const hardware::Gpu& gpu,
                                                    const kernel::CostModel& costs) const {
    std::vector<Launch> launches;
    double rest = seconds;
    for (const RowId node : nodes) {
      const auto num_launches = static_cast<double>(std::ranges::count(nodes, node));
      const bool is_below = node != call.node;
      launches.push_back({node, is_below ? AloneSeconds(node, gpu, costs) / num_launches : 0});
      rest -= launches.back().seconds;
    }
    const auto num_others = std::ranges::count(launches, 0.0, &Launch::seconds);
    double sum = 0;
    for (Launch& launch : launches) {
      launch.seconds = launch.seconds > 0 ? launch.seconds
                                          : std::max(rest, 0.0) / static_cast<double>(num_others);
      sum += launch.seconds;
    }
    for (Launch& launch : launches) {
      launch.seconds *= sum > 0 ? seconds / sum : 0;
    }
    return launches;
  }

  void AddTasks(const PricedCall& call, const std::vector<Launch>& launches) {
    if (call.operators->empty()) {
      return;
    }
    const std::string name = kernel::Text(call.operators->front());
    const std::string launch_call(LaunchCallOf(call.operators->front()));
    double end_s = 0;
    std::int64_t end_ps = 0;
    for (const Launch& launch : launches) {
      end_s += launch.seconds;
      const std::int64_t begin_ps = std::exchange(end_ps, std::llround(end_s * 1e12));
      prices_.tasks_of_node[launch.node].push_back({end_ps - begin_ps, name, launch_call});
    }
  }

  const Trace& graph_;
  const HostModel& host_;
  bool allow_tf32_;
  std::vector<std::uint8_t> is_in_step_;  // GraphNodes
  GraphPrices prices_;
  std::vector<RowId> owner_;                 // the estimated call that a node belongs to
  std::vector<std::vector<RowId>> members_;  // the nodes of an estimated call
};

using trace::CopyKind;

constexpr std::size_t kMostNamesSaid = 5;

// Models were learned from different tables and may know a shape on one GPU only; no kernel gains
// or loses more than so much of what the papers of two generations promise.
constexpr double kMostBeyondBounds = 3;

/// The least times of a call by a GPU's papers; 0 if they say nothing.
double BoundSeconds(const PricedCall& call, const hardware::Gpu& gpu) {
  if (gpu.peak_flops.empty()) {
    return 0;
  }
  double seconds = 0;
  for (const kernel::Operator& op : *call.operators) {
    seconds += kernel::BoundOf(op, kernel::WorkOf(op), gpu).Seconds();
  }
  return seconds;
}

/// A ratio of times, and the source of it.
struct Scale {
  ScaledBy by = ScaledBy::kMemory;
  double factor = 1;
};

/// The ratio of times that are inverse to a bandwidth.
double Inverse(Bandwidth from, Bandwidth to) {
  return from.bytes_per_second > 0 && to.bytes_per_second > 0
             ? from.bytes_per_second / to.bytes_per_second
             : 1.0;
}

class Scaler {
 public:
  Scaler(const Trace& recording, const hardware::Gpu& from, const hardware::Gpu& to,
         const kernel::CostModel& costs)
      : recording_(recording),
        from_(from),
        to_(to),
        of_operator_(recording.host_ops.size(), std::nullopt) {
    PriceCalls(kernel::MemoizedCostModel(costs, from), kernel::MemoizedCostModel(costs, to));
  }

  [[nodiscard]] Scale Of(RowId activity) const {
    if (recording_.activities.kind[activity] == trace::ActivityKind::kMemcpy) {
      return OfCopy(recording_.activities.copy_kind[activity]);
    }
    const RowId op = recording_.activities.host_op[activity];
    return op != kNoRow && of_operator_[op] ? *of_operator_[op] : Scale{.factor = MemoryFactor()};
  }

  [[nodiscard]] std::vector<std::string> TakeUnknownNames() { return std::move(unknown_names_); }

 private:
  void PriceCalls(const kernel::CostModel& costs_from, const kernel::CostModel& costs_to) {
    for (const PricedCall& call : PricedOperators(recording_)) {
      if (call.meaning == kernel::AtenMeaning::kUnknown) {
        AddOnce(recording_.Text(recording_.host_ops.name[call.node]), unknown_names_);
      } else {
        of_operator_[call.node] = OfCall(call, costs_from, costs_to);
      }
    }
    // The calls of an estimated call are part of it; parents come first.
    for (RowId op = 0; op < of_operator_.size(); ++op) {
      const RowId parent = recording_.host_ops.parent[op];
      if (!of_operator_[op] && parent != kNoRow) {
        of_operator_[op] = of_operator_[parent];
      }
    }
  }

  [[nodiscard]] std::optional<Scale> OfCall(const PricedCall& call,
                                            const kernel::CostModel& costs_from,
                                            const kernel::CostModel& costs_to) const {
    const double bound_from_s = BoundSeconds(call, from_);
    const double bound_to_s = BoundSeconds(call, to_);
    const bool has_bounds = bound_from_s > 0 && bound_to_s > 0;
    const bool run_same_kernels = !from_.generation.empty() && from_.generation == to_.generation;
    if (has_bounds && run_same_kernels) {
      return Scale{ScaledBy::kBounds, bound_to_s / bound_from_s};
    }
    const double before_s = Seconds(*call.operators, costs_from, from_);
    const double after_s = Seconds(*call.operators, costs_to, to_);
    if (before_s <= 0 || after_s <= 0) {
      return std::nullopt;
    }
    const double factor = after_s / before_s;
    const double bound = has_bounds ? bound_to_s / bound_from_s : factor;
    return Scale{ScaledBy::kModels,
                 std::clamp(factor, bound / kMostBeyondBounds, bound * kMostBeyondBounds)};
  }

  [[nodiscard]] double MemoryFactor() const { return Inverse(from_.memory, to_.memory); }

  [[nodiscard]] Scale OfCopy(CopyKind kind) const {
    switch (kind) {
      case CopyKind::kHostToDevice:
      case CopyKind::kDeviceToHost:
        return {ScaledBy::kLinks, Inverse(from_.host_link, to_.host_link)};
      case CopyKind::kPeerToPeer:
        return {ScaledBy::kLinks, Inverse(from_.link, to_.link)};
      default:
        return {ScaledBy::kMemory, MemoryFactor()};
    }
  }

  const Trace& recording_;
  const hardware::Gpu& from_;
  const hardware::Gpu& to_;
  std::vector<std::optional<Scale>> of_operator_;  // HostOps
  std::vector<std::string> unknown_names_;
};

}  // namespace

void PricingSummary::Add(const PricingSummary& other) {
  calls += other.calls;
  unknown_calls += other.unknown_calls;
  extrapolated += other.extrapolated;
  seconds += other.seconds;
  by_bytes_s += other.by_bytes_s;
  fp32_products_s += other.fp32_products_s;
  unmodelled_s += other.unmodelled_s;
  for (std::size_t source = 0; source < operators.size(); ++source) {
    operators[source] += other.operators[source];
  }
}

GraphPrices PriceGraph(const Trace& graph, const CallTree& step, const hardware::Gpu& gpu,
                       const kernel::CostModel& costs, const HostModel& host,
                       bool products_allow_tf32) {
  return GraphPricer(graph, step, host, products_allow_tf32).Price(gpu, costs);
}

std::int64_t NumReplayedGraphs(const Trace& graph, const CallTree& step,
                               const GraphPrices& prices) {
  const auto computes = [&](const Call& call) {
    return !prices.tasks_of_node[call.row].empty() &&
           graph.Text(call.name).find("copy") == std::string_view::npos;
  };
  std::int64_t replayed = 0;
  for (const ThreadCalls& thread : step.threads) {
    for (std::size_t i = 1; i < thread.calls.size(); ++i) {
      const Call& call = thread.calls[i];
      const auto below = std::span(thread.calls).subspan(i + 1, call.num_descendants);
      const bool is_compiled = graph.Text(call.name).starts_with("## Call CompiledFxGraph");
      replayed += is_compiled && std::ranges::none_of(below, computes) ? 1 : 0;
    }
  }
  return replayed;
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
      return Refuse("line {}: no 'operator' or no 'kernels'", row + 2);
    }
    const Result<Operator> op = kernel::ParseOperator(*text);
    if (op) {
      launches_of_name[LaunchesName(*op)].push_back(*kernels);
    } else {
      ++num_unknown;
    }
  }
  for (const auto& [name, values] : launches_of_name) {
    HostCost cost = SpreadOf(values);
    cost.typical = Median(values);
    model.Set(HostPart::kLaunches, name, cost);
  }
  return num_unknown;
}

double ScalingSummary::Seconds() const {
  std::int64_t sum_ns = 0;
  for (const Share& share : shares) {
    sum_ns += share.to_ns;
  }
  return static_cast<double>(sum_ns) * 1e-9;
}

double ScalingSummary::UnmodelledSeconds() const {
  return static_cast<double>(shares[static_cast<std::size_t>(ScaledBy::kMemory)].to_ns) * 1e-9;
}

std::string RemarkOn(const ScalingSummary& summary) {
  const ScalingSummary::Share& memory = summary.shares[static_cast<std::size_t>(ScaledBy::kMemory)];
  std::int64_t total_ns = 0;
  for (const ScalingSummary::Share& share : summary.shares) {
    total_ns += share.from_ns;
  }
  if (memory.activities == 0 || total_ns == 0) {
    return "";
  }
  const std::size_t num_said = std::min(summary.unknown_names.size(), kMostNamesSaid);
  const auto said_end = summary.unknown_names.begin() + static_cast<std::ptrdiff_t>(num_said);
  const std::vector<std::string> said(summary.unknown_names.begin(), said_end);
  return fmt::format(
      "{} kernels and memcpys, {:.1f} % of the recorded GPU time, are scaled by memory bandwidth, "
      "because their calls are unknown to the models{}{}{}",
      memory.activities, 100 * static_cast<double>(memory.from_ns) / static_cast<double>(total_ns),
      said.empty() ? "" : ": ", fmt::join(said, ", "),
      num_said < summary.unknown_names.size() ? " and others" : "");
}

ScalingSummary ScaleToGpu(const hardware::Gpu& from, const hardware::Gpu& to,
                          const kernel::CostModel& costs, Trace& recording) {
  Scaler scaler(recording, from, to, costs);
  ScalingSummary summary;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    const Scale scale = scaler.Of(row);
    std::int64_t& duration_ns = recording.activities.duration_ns[row];
    ScalingSummary::Share& share = summary.shares[static_cast<std::size_t>(scale.by)];
    ++share.activities;
    share.from_ns += duration_ns;
    duration_ns = std::llround(static_cast<double>(duration_ns) * scale.factor);
    share.to_ns += duration_ns;
  }
  summary.unknown_names = scaler.TakeUnknownNames();
  return summary;
}

}  // namespace orrery::workload
