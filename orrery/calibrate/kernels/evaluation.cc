#include "orrery/calibrate/kernels/evaluation.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::calibrate {
namespace {

using kernel::Estimate;
using kernel::Field;
using kernel::Key;
using kernel::Measurement;
using kernel::ModelSet;
using kernel::Operator;
using kernel::OperatorKind;
using kernel::SchemaOf;
using kernel::SustainedSeconds;
using kernel::Text;
using kernel::Timing;

std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  for (const auto part : text | std::views::split(':')) {
    parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

tl::unexpected<Error> BadRule(std::string_view text) {
  return Invalid(
      "'{}' is not a split; try random:20, gpu, gpu:V100, value:m:20 or "
      "above:m:4096, each optionally with :seed=7",
      text);
}

Result<KernelSplitRule> WithShare(KernelSplitRule rule, std::string_view whole,
                                  std::span<const std::string_view> rest) {
  if (rest.size() > 1) {
    return BadRule(whole);
  }
  if (!rest.empty()) {
    const std::optional<std::int64_t> percent = ParseInteger(rest.front());
    if (!percent || *percent < 1 || *percent > 90) {
      return BadRule(whole);
    }
    rule.share = static_cast<double>(*percent) / 100;
  }
  return rule;
}

Result<KernelSplitRule> ParseParts(std::span<const std::string_view> parts, std::string_view whole,
                                   KernelSplitRule rule) {
  if (parts[0] == "random") {
    return WithShare(rule, whole, parts.subspan(1));
  }
  if (parts[0] == "gpu" && parts.size() <= 2) {
    rule.kind = KernelSplitRule::Kind::kGpu;
    rule.gpu = parts.size() == 2 ? parts[1] : "";
    return rule;
  }
  if (parts[0] == "value" && parts.size() >= 2) {
    rule.kind = KernelSplitRule::Kind::kValue;
    rule.parameter = parts[1];
    return WithShare(rule, whole, parts.subspan(2));
  }
  const std::optional<std::int64_t> threshold =
      parts.size() == 3 && parts[0] == "above" ? ParseInteger(parts[2]) : std::nullopt;
  if (!threshold) {
    return BadRule(whole);
  }
  rule.kind = KernelSplitRule::Kind::kAbove;
  rule.parameter = parts[1];
  rule.threshold = *threshold;
  return rule;
}

/// The value of a parameter by its name in texts; nothing if the kind does not have it.
std::optional<std::int64_t> Parameter(const Operator& op, std::string_view name) {
  const std::span<const Field> fields = SchemaOf(op.kind()).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) {
      return op.values()[i];
    }
  }
  return std::nullopt;
}

bool IsDrawn(std::string_view key, const KernelSplitRule& rule) {
  return learn::UnitInterval(learn::HashText(key, rule.seed)) < rule.share;
}

bool IsTest(const Measurement& row, const KernelSplitRule& rule, std::string_view gpu) {
  switch (rule.kind) {
    case KernelSplitRule::Kind::kRandom:
      return IsDrawn(DuplicateKey(row.op), rule);
    case KernelSplitRule::Kind::kGpu:
      return row.gpu->name == gpu;
    case KernelSplitRule::Kind::kValue: {
      const auto value = Parameter(row.op, rule.parameter);
      return value && IsDrawn(fmt::format("{}={}", rule.parameter, *value), rule);
    }
    case KernelSplitRule::Kind::kAbove: {
      const auto value = Parameter(row.op, rule.parameter);
      return value && *value > rule.threshold;
    }
  }
  return false;
}

RowSplit OneRound(std::span<const Measurement> rows, const KernelSplitRule& rule, std::string name,
                  std::string_view gpu) {
  RowSplit split{std::move(name), {}, {}};
  for (const Measurement& row : rows) {
    (IsTest(row, rule, gpu) ? split.test : split.train).push_back(row);
  }
  return split;
}

constexpr std::size_t kWorstRows = 10;

}  // namespace

Result<KernelSplitRule> KernelSplitRule::Parse(std::string_view text) {
  constexpr std::string_view kSeed = "seed=";
  std::vector<std::string_view> parts = Parts(text);
  KernelSplitRule rule;
  if (parts.empty()) {
    return BadRule(text);
  }
  if (parts.back().starts_with(kSeed)) {
    const std::optional<std::int64_t> seed = ParseInteger(parts.back().substr(kSeed.size()));
    if (!seed || parts.size() == 1) {
      return BadRule(text);
    }
    rule.seed = static_cast<std::uint64_t>(*seed);
    parts.pop_back();
  }
  return ParseParts(parts, text, rule);
}

std::string KernelSplitRule::Text() const {
  switch (kind) {
    case Kind::kRandom:
      return fmt::format("random {:.0f} % of the shapes, seed {}", share * 100, seed);
    case Kind::kGpu:
      return gpu.empty() ? "each GPU in turn unseen" : fmt::format("{} unseen", gpu);
    case Kind::kValue:
      return fmt::format("{:.0f} % of the values of {} unseen, seed {}", share * 100, parameter,
                         seed);
    case Kind::kAbove:
      return fmt::format("{} above {} unseen", parameter, threshold);
  }
  return {};
}

Result<std::vector<RowSplit>> SplitRows(std::span<const Measurement> rows,
                                        const KernelSplitRule& rule) {
  std::vector<RowSplit> rounds;
  if (rule.kind != KernelSplitRule::Kind::kGpu) {
    rounds.push_back(OneRound(rows, rule, rule.Text(), {}));
  } else {
    std::set<std::string> gpus;
    for (const Measurement& row : rows) {
      gpus.insert(row.gpu->name);
    }
    for (const std::string& gpu : gpus) {
      const hardware::Gpu* held_out = hardware::FindGpu(rule.gpu);
      if (rule.gpu.empty() || (held_out != nullptr && held_out->name == gpu)) {
        rounds.push_back(OneRound(rows, rule, gpu + " unseen", gpu));
      }
    }
  }
  std::erase_if(rounds, [](const RowSplit& round) { return round.test.empty(); });
  if (rounds.empty()) {
    return Fail(Error::Kind::kNotFound,
                fmt::format("the split '{}' holds out no row of this data", rule.Text()));
  }
  return rounds;
}

std::string DuplicateKey(const Operator& op) {
  Operator duplicate = op;
  duplicate.set_warm(false);
  if (duplicate.kind() == OperatorKind::kGemm && duplicate.Get(Key::kN) < duplicate.Get(Key::kK)) {
    const std::int64_t n = duplicate.Get(Key::kN);
    duplicate.Set(Key::kN, duplicate.Get(Key::kK)).Set(Key::kK, n);
  }
  return Text(duplicate);
}

std::vector<EvaluatedOperator> EvaluateKernels(const ModelSet& models,
                                               std::span<const Measurement> rows) {
  std::map<std::pair<const hardware::Gpu*, Timing>, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    places[{rows[i].gpu, rows[i].timing}].push_back(i);
  }
  std::vector<EvaluatedOperator> evaluated(rows.size());
  for (const auto& [key, indices] : places) {
    std::vector<Operator> operators;
    operators.reserve(indices.size());
    for (const std::size_t index : indices) {
      operators.push_back(rows[index].op);
    }
    std::vector<Estimate> estimates(operators.size());
    models.PredictAs(key.second, operators, *key.first, estimates);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Measurement& row = rows[indices[i]];
      if (row.is_sustained) {
        estimates[i].seconds = SustainedSeconds(row.op, *row.gpu, estimates[i].seconds);
      }
      evaluated[indices[i]] = {row, estimates[i]};
    }
  }
  return evaluated;
}

std::vector<EvaluatedOperator> EvaluateKernelsHeldOut(const ModelSet& models,
                                                      std::span<const Measurement> rows) {
  std::map<std::string_view, std::vector<Measurement>> rows_of_gpu;
  for (const Measurement& row : rows) {
    rows_of_gpu[row.gpu->name].push_back(row);
  }
  std::vector<EvaluatedOperator> evaluated;
  for (const auto& [gpu, own] : rows_of_gpu) {
    std::vector<EvaluatedOperator> part = EvaluateKernels(models.Without(gpu), own);
    evaluated.insert(evaluated.end(), part.begin(), part.end());
  }
  return evaluated;
}

std::vector<OperatorGroup> GroupsOf(std::span<const EvaluatedOperator> rows, GroupBy by) {
  std::map<std::tuple<std::string_view, std::string, Timing, bool, std::string_view>,
           learn::EvaluatedTimes>
      times;
  for (const EvaluatedOperator& row : rows) {
    const Measurement& measured = row.measured;
    const std::string_view type =
        by == GroupBy::kOperatorGpuType ? DataTypeName(measured.op.type()) : "";
    times[{SchemaOf(measured.op.kind()).name, measured.gpu->name, measured.timing,
           measured.is_sustained, type}]
        .Add(row.predicted.seconds, measured.seconds);
  }
  std::vector<OperatorGroup> groups;
  for (const auto& [key, group] : times) {
    const auto& [name, gpu, timing, is_sustained, type] = key;
    groups.push_back(
        {std::string(name), gpu, std::string(type), timing, is_sustained, group.Evaluate()});
  }
  return groups;
}

KernelEvaluation Summarize(std::span<const EvaluatedOperator> rows) {
  learn::EvaluatedTimes times;
  for (const EvaluatedOperator& row : rows) {
    times.Add(row.predicted.seconds, row.measured.seconds);
  }
  KernelEvaluation evaluation;
  evaluation.overall = times.Evaluate();
  evaluation.groups = GroupsOf(rows, GroupBy::kOperatorGpuType);
  for (const std::size_t place : learn::WorstRows(times.predicted, times.measured, kWorstRows)) {
    evaluation.worst.push_back(rows[place]);
  }
  return evaluation;
}

}  // namespace orrery::calibrate
