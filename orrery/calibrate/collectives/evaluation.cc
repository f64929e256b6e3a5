#include "orrery/calibrate/collectives/evaluation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/calibrate/collectives/calibration.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/learn/metrics.h"

namespace orrery::calibrate {
namespace {

using collective::MachineModels;
using collective::Measurement;

std::optional<std::string_view> After(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? std::optional(text.substr(prefix.size())) : std::nullopt;
}

using GroupKey = std::tuple<std::string_view, std::string_view, std::string_view, int>;

void Summarize(CollectiveEvaluation& evaluation) {
  std::map<GroupKey, learn::EvaluatedTimes> groups;
  learn::EvaluatedTimes all;
  for (const EvaluatedCollective& row : evaluation.rows) {
    const Measurement& measured = *row.row;
    const GroupKey key{measured.machine(), measured.source,
                       CollectiveKindName(measured.request.kind), measured.gpus};
    groups[key].Add(row.seconds, measured.seconds);
    all.Add(row.seconds, measured.seconds);
  }
  evaluation.overall = all.Evaluate();
  for (const auto& [key, times] : groups) {
    const auto& [machine, source, collective, gpus] = key;
    evaluation.groups.push_back({std::string(source), std::string(machine), std::string(collective),
                                 gpus, times.Evaluate()});
  }
}

Status EvaluateRow(const MachineModels& models, const Measurement& row, std::int64_t min_bytes,
                   bool is_unseen, CollectiveEvaluation& evaluation) {
  if (row.request.size.count < min_bytes) {
    return {};
  }
  const MachineModels::Found found =
      models.Find({row.cluster, row.gpus, row.source, row.setup, is_unseen, row.fabric.nodes});
  ORRERY_TRY(const double seconds, PredictRow(found, row));
  evaluation.rows.push_back({&row, seconds, found.match});
  return {};
}

/// Splits of earlier versions mixed these numbers of kinds into their random bits.
constexpr auto kSplitOrder = std::to_array<CollectiveKind>(
    {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
     CollectiveKind::kAllToAll, CollectiveKind::kBroadcast, CollectiveKind::kReduce,
     CollectiveKind::kSendRecv, CollectiveKind::kBarrier});

/// A size is in the same part whatever else is in the table.
bool IsHeldBack(const CollectiveSplitRule& rule, const Measurement& row) {
  if (rule.kind == CollectiveSplitRule::Kind::kAboveGpus) {
    return row.gpus > rule.most_gpus;
  }
  std::uint64_t bits = MixBits(rule.seed + 0x9E3779B97F4A7C15u);
  bits = MixBits(bits ^ static_cast<std::uint64_t>(row.request.size.count));
  bits = MixBits(bits ^ static_cast<std::uint64_t>(row.gpus));
  const auto number = std::ranges::find(kSplitOrder, row.request.kind) - kSplitOrder.begin();
  bits = MixBits(bits ^ static_cast<std::uint64_t>(number));
  return static_cast<double>(bits >> 11) * 0x1p-53 < rule.share;
}

}  // namespace

Result<CollectiveSplitRule> CollectiveSplitRule::Parse(std::string_view text) {
  CollectiveSplitRule rule;
  std::string_view rest = text;
  if (const std::size_t at = rest.find(":seed="); at != std::string_view::npos) {
    const std::optional<std::uint64_t> seed = ParseWhole<std::uint64_t>(rest.substr(at + 6));
    rule.seed = seed.value_or(0);
    rest = seed ? rest.substr(0, at) : "";
  }
  if (const auto gpus = After(rest, "above:gpus:")) {
    rule.kind = Kind::kAboveGpus;
    rule.most_gpus = ParseWhole<int>(*gpus).value_or(0);
    if (rule.most_gpus >= 1) {
      return rule;
    }
  } else if (const auto share = After(rest, "random:")) {
    rule.share = ParseWhole<double>(*share).value_or(0) / 100;
    if (rule.share > 0 && rule.share < 1) {
      return rule;
    }
  }
  return Invalid(
      "'{}' is not a split; write random:20 or above:gpus:16, optionally with "
      ":seed=7",
      text);
}

Result<CollectiveEvaluation> EvaluateCollectives(std::span<const Measurement> rows,
                                                 std::int64_t min_bytes,
                                                 const MachineModels& models, bool is_unseen) {
  CollectiveEvaluation evaluation;
  for (const Measurement& row : rows) {
    ORRERY_TRY_STATUS(EvaluateRow(models, row, min_bytes, is_unseen, evaluation));
  }
  Summarize(evaluation);
  return evaluation;
}

Result<CollectiveEvaluation> EvaluateCollectivesHeldOut(std::span<const Measurement> rows,
                                                        std::int64_t min_bytes,
                                                        const CollectiveSplitRule& rule) {
  CollectiveEvaluation evaluation;
  for (const std::vector<const Measurement*>& group : GroupByMachine(rows)) {
    std::vector<const Measurement*> seen;
    std::ranges::copy_if(group, std::back_inserter(seen),
                         [&](const Measurement* row) { return !IsHeldBack(rule, *row); });
    if (seen.size() == group.size()) {
      continue;
    }
    const Result<MachineCalibration> calibration = CalibrateMachine(seen);
    if (!calibration) {
      continue;  // too few rows in this part of the split
    }
    MachineModels models;
    models.Add(calibration->model);
    for (const Measurement* row : group) {
      if (IsHeldBack(rule, *row)) {
        ORRERY_TRY_STATUS(EvaluateRow(models, *row, min_bytes, false, evaluation));
      }
    }
  }
  if (evaluation.rows.empty()) {
    return Invalid("the split leaves no rows to evaluate, or too few to fit a machine");
  }
  Summarize(evaluation);
  return evaluation;
}

}  // namespace orrery::calibrate
