#include "orrery/collective/evaluation.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "orrery/base/mix_bits.h"

namespace orrery::collective {

namespace {

std::optional<double> NumberOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

std::optional<std::string_view> After(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? std::optional(text.substr(prefix.size())) : std::nullopt;
}

using GroupKey = std::tuple<std::string_view, std::string_view, std::string_view, int>;

GroupKey KeyOf(const Measurement& row) {
  return {row.machine(), row.source, Name(row.request.kind), row.gpus};
}

learn::Evaluation FiguresOf(std::span<const EvaluatedRow> rows) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const EvaluatedRow& row : rows) {
    predicted.push_back(row.seconds);
    measured.push_back(row.row->seconds);
  }
  return learn::Evaluate(predicted, measured);
}

void Summarize(EvaluationResult& evaluation) {
  std::map<GroupKey, std::vector<EvaluatedRow>> groups;
  for (const EvaluatedRow& row : evaluation.rows) {
    groups[KeyOf(*row.row)].push_back(row);
  }
  evaluation.overall = FiguresOf(evaluation.rows);
  for (const auto& [key, rows] : groups) {
    const auto& [machine, source, collective, gpus] = key;
    evaluation.groups.push_back({std::string(source), std::string(machine), std::string(collective),
                                 gpus, FiguresOf(rows)});
  }
}

Status EvaluateRow(const MachineModels& models, const Measurement& row, std::int64_t min_bytes,
                   EvaluationResult& evaluation) {
  if (row.request.size.count < min_bytes) {
    return {};
  }
  const MachineModels::Found found = models.Find(
      {.cluster = row.cluster, .gpus = row.gpus, .source = row.source, .setup = row.setup});
  ORRERY_TRY(const double seconds, PredictRow(*found.model, row));
  evaluation.rows.push_back({&row, seconds, found.match});
  return {};
}

/// A size is in the same part whatever else is in the table.
bool IsHeldBack(const SplitRule& rule, const Measurement& row) {
  if (rule.kind == SplitRule::Kind::kAboveGpus) {
    return row.gpus > rule.most_gpus;
  }
  std::uint64_t bits = MixBits(rule.seed + 0x9E3779B97F4A7C15u);
  bits = MixBits(bits ^ static_cast<std::uint64_t>(row.request.size.count));
  bits = MixBits(bits ^ static_cast<std::uint64_t>(row.gpus));
  bits = MixBits(bits ^ static_cast<std::uint64_t>(row.request.kind));
  return static_cast<double>(bits >> 11) * 0x1p-53 < rule.share;
}

}  // namespace

Result<SplitRule> SplitRule::Parse(std::string_view text) {
  SplitRule rule;
  std::string_view rest = text;
  if (const std::size_t at = rest.find(":seed="); at != std::string_view::npos) {
    const std::optional<double> seed = NumberOf(rest.substr(at + 6));
    rule.seed = static_cast<std::uint64_t>(seed.value_or(-1));
    rest = seed && *seed >= 0 ? rest.substr(0, at) : "";
  }
  if (const auto gpus = After(rest, "above:gpus:")) {
    rule.kind = Kind::kAboveGpus;
    rule.most_gpus = static_cast<int>(NumberOf(*gpus).value_or(0));
    if (rule.most_gpus >= 1) {
      return rule;
    }
  } else if (const auto share = After(rest, "random:")) {
    rule.share = NumberOf(*share).value_or(0) / 100;
    if (rule.share > 0 && rule.share < 1) {
      return rule;
    }
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("'{}' is not a split; write random:20 or above:gpus:16, optionally with "
                          ":seed=7",
                          text));
}

Result<EvaluationResult> Evaluate(std::span<const Measurement> rows, std::int64_t min_bytes,
                                  const MachineModels& models) {
  EvaluationResult evaluation;
  for (const Measurement& row : rows) {
    ORRERY_TRY_STATUS(EvaluateRow(models, row, min_bytes, evaluation));
  }
  Summarize(evaluation);
  return evaluation;
}

Result<EvaluationResult> EvaluateHeldOut(std::span<const Measurement> rows, std::int64_t min_bytes,
                                         const SplitRule& rule) {
  EvaluationResult evaluation;
  for (const std::vector<const Measurement*>& group : GroupByMachine(rows)) {
    std::vector<const Measurement*> seen;
    std::ranges::copy_if(group, std::back_inserter(seen),
                         [&](const Measurement* row) { return !IsHeldBack(rule, *row); });
    if (seen.size() == group.size()) {
      continue;
    }
    const Result<Calibration> calibration = Calibrate(seen);
    if (!calibration) {
      continue;  // too few rows in this part of the split
    }
    MachineModels models;
    models.Add(calibration->model);
    for (const Measurement* row : group) {
      if (IsHeldBack(rule, *row)) {
        ORRERY_TRY_STATUS(EvaluateRow(models, *row, min_bytes, evaluation));
      }
    }
  }
  if (evaluation.rows.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "the split leaves no rows to evaluate, or too few to fit a machine");
  }
  Summarize(evaluation);
  return evaluation;
}

}  // namespace orrery::collective
