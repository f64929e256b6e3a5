#include "orrery/workload/recorded/host/host_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"
#include "orrery/workload/embedded_host.h"
#include "orrery/workload/input.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, 16> kPartNames{
    "whole",    "start",       "between",        "end",          "launch", "synchronize",
    "gap",      "gap_in_list", "rest",           "rest_in_list", "turn",   "recompute",
    "launches", "waits",       "launch_latency", "kernel_gap"};

// The row that carries profiler_cost_ns; no part of the host.
constexpr std::string_view kProfilerCost = "profiler_cost";

constexpr std::array<std::string_view, 5> kQuantileColumns{"p10", "p25", "p50", "p75", "p90"};

void AddRow(Table& table, std::string_view part, const std::string& name, const HostCost& cost) {
  const std::size_t row = table.AddRow();
  std::size_t column = 0;
  table.Set(row, column++, std::string(part));
  table.Set(row, column++, name);
  table.Set(row, column++, cost.typical);
  for (const double quantile : cost.quantiles) {
    table.Set(row, column++, quantile);
  }
  table.Set(row, column++, cost.mean);
  table.Set(row, column++, cost.count);
  table.Set(row, column++, cost.recordings);
}

Result<HostCost> CostOf(const Table& table, std::size_t row) {
  const auto typical = table.Number(row, "typical");
  if (!typical || !std::isfinite(*typical) || *typical < 0) {
    return Refuse("line {}: 'typical' must be a number that is not negative", row + 2);
  }
  HostCost cost{.typical = *typical};
  for (std::size_t i = 0; i < kQuantileColumns.size(); ++i) {
    cost.quantiles[i] = table.Number(row, kQuantileColumns[i]).value_or(*typical);
  }
  cost.mean = table.Number(row, "mean").value_or(*typical);
  cost.count = table.Integer(row, "count").value_or(0);
  cost.recordings = table.Integer(row, "recordings").value_or(0);
  return cost;
}

}  // namespace

HostCost SpreadOf(const std::vector<double>& values) {
  HostCost cost{.mean = Mean(values), .count = static_cast<std::int64_t>(values.size())};
  constexpr std::array<double, 5> kShares{0.1, 0.25, 0.5, 0.75, 0.9};
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    cost.quantiles[i] = Quantile(values, kShares[i]);
  }
  return cost;
}

void HostModel::Set(HostPart part, std::string name, const HostCost& cost) {
  entries_.insert_or_assign(Key(part, std::move(name)), cost);
}

const HostCost* HostModel::Find(HostPart part, std::string_view name) const {
  const auto found = entries_.find(Key(part, std::string(name)));
  return found == entries_.end() ? nullptr : &found->second;
}

HostAnswer HostModel::Get(HostPart part, std::string_view name, bool launches) const {
  if (const HostCost* cost = Find(part, name)) {
    return {cost->typical,
            cost->is_of_recording ? HostCostSource::kRecorded : HostCostSource::kName};
  }
  if (IsOperatorPart(part)) {
    if (const HostCost* cost = Find(part, KindOf(name, launches))) {
      return {cost->typical, HostCostSource::kKind};
    }
  }
  if (const HostCost* cost = Find(part, kAll)) {
    return {cost->typical, HostCostSource::kGlobal};
  }
  return {};
}

std::string_view KindOf(std::string_view name, bool launches) {
  if (launches) {
    return "*kernel";
  }
  if (name.starts_with("autograd::engine")) {
    return "*engine";
  }
  return name.starts_with("aten::") ? "*plain" : "*node";
}

bool IsOfProgram(std::string_view name) {
  constexpr std::string_view kNode = "Backward";  // PyTorch's own are numbered: "MulBackward0"
  const std::size_t number = name.find_last_not_of("0123456789") + 1;
  const bool is_numbered_node = number < name.size() && name.substr(0, number).ends_with(kNode);
  return !is_numbered_node && !name.starts_with("aten::") && !name.starts_with("autograd::") &&
         !name.starts_with("torch::autograd::");
}

bool IsCompiledKernel(std::string_view name) {
  return name.starts_with("triton_");
}

std::string_view BaseName(std::string_view name) {
  return name.starts_with('#') ? name : name.substr(0, name.find('#'));
}

bool IsListWalk(std::string_view annotation, std::int64_t num_calls, std::int64_t num_parameters) {
  return annotation.starts_with("Optimizer.") &&
         num_calls < std::max<std::int64_t>(num_parameters, 3);
}

HostModel WithMeans(const HostModel& model) {
  HostModel means = model;
  for (const auto& [key, cost] : model.entries()) {
    const auto& [part, name] = key;
    if (part < HostPart::kLaunches && !name.starts_with(HostModel::kAll) && cost.count > 0) {
      HostCost mean = cost;
      mean.typical = cost.mean;
      means.Set(part, name, mean);
    }
  }
  return means;
}

Table HostTable(const HostModel& model) {
  Table table;
  table.AddColumn("part", Table::Type::kText);
  table.AddColumn("name", Table::Type::kText);
  table.AddColumn("typical", Table::Type::kNumber);
  for (const std::string_view column : kQuantileColumns) {
    table.AddColumn(std::string(column), Table::Type::kNumber);
  }
  table.AddColumn("mean", Table::Type::kNumber);
  table.AddColumn("count", Table::Type::kInteger);
  table.AddColumn("recordings", Table::Type::kInteger);
  HostCost profiler{.typical = model.profiler_cost_ns, .mean = model.profiler_cost_ns};
  profiler.quantiles.fill(model.profiler_cost_ns);
  AddRow(table, kProfilerCost, std::string(HostModel::kAll), profiler);
  for (const auto& [key, cost] : model.entries()) {
    AddRow(table, kPartNames[static_cast<std::size_t>(key.first)], key.second, cost);
  }
  return table;
}

Result<HostModel> HostModelOf(const Table& table) {
  for (const std::string_view column : {"part", "name", "typical"}) {
    if (!table.FindColumn(column)) {
      return Refuse("line 1: no column '{}'; `orrery fit host` writes the file", column);
    }
  }
  HostModel model;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const std::string_view part_name = table.Text(row, "part").value_or("");
    ORRERY_TRY(const HostCost cost, CostOf(table, row));
    if (part_name == kProfilerCost) {
      model.profiler_cost_ns = cost.typical;
      continue;
    }
    const auto part = std::ranges::find(kPartNames, part_name);
    if (part == kPartNames.end()) {
      return Refuse("line {}: no such part of the host: {}", row + 2, part_name);
    }
    model.Set(static_cast<HostPart>(part - kPartNames.begin()),
              std::string(table.Text(row, "name").value_or("")), cost);
  }
  return model;
}

const HostModel& DefaultHost() {
  static const HostModel kModel = [] {
    const Result<Table> table = ParseCsv(kEmbeddedHost);
    ORRERY_CHECK(table.has_value(), table ? "" : table.error().message());
    Result<HostModel> model = HostModelOf(*table);
    ORRERY_CHECK(model.has_value(), model ? "" : model.error().message());
    return *std::move(model);
  }();
  return kModel;
}

}  // namespace orrery::workload
