#include "orrery/kernel/sibling_level.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/statistics.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/kernel/model_set.h"

namespace orrery::kernel {

namespace {

/// Ten launches of an eager framework (30 µs): from here on kernels dominate.
constexpr double kLeastEagerSeconds = 300e-6;
constexpr auto kTimings = std::to_array({Timing::kKernels, Timing::kReplay, Timing::kEager});
constexpr std::string_view kFormat = "orrery sibling levels";

/// Rows of one GPU, kind and type.
using Rows = std::vector<const Measurement*>;

std::vector<Rows> GroupsOf(std::span<const Measurement> rows) {
  std::map<std::tuple<std::string_view, OperatorKind, DataType>, Rows> groups;
  for (const Measurement& row : rows) {
    if (row.timing != Timing::kEager || row.seconds >= kLeastEagerSeconds) {
      groups[{row.gpu->name, row.op.kind(), row.op.type()}].push_back(&row);
    }
  }
  std::vector<Rows> sorted;
  for (auto& [key, group] : groups) {
    sorted.push_back(std::move(group));
  }
  return sorted;
}

/// ln(measured / predicted) of each row; nothing if no sibling model exists.
std::optional<std::vector<double>> LogsOf(const ModelSet& models, const Rows& rows, Timing timing) {
  std::vector<double> logs;
  for (const Measurement* row : rows) {
    Estimate estimate;
    models.PredictAs(timing, {&row->op, 1}, *row->gpu, {&estimate, 1}, 1);
    if (estimate.source != EstimateSource::kSibling) {
      return std::nullopt;
    }
    logs.push_back(std::log(row->seconds / estimate.seconds));
  }
  return logs;
}

double DeviationFrom(double mean, std::span<const double> logs) {
  double squares = 0;
  for (const double log : logs) {
    squares += (log - mean) * (log - mean);
  }
  return std::sqrt(squares / static_cast<double>(logs.size()));
}

std::optional<SiblingLevel> LevelOf(const ModelSet& models, const Rows& rows) {
  const Measurement& first = *rows.front();
  SiblingLevel level;
  level.gpu = first.gpu->name;
  level.kind = first.op.kind();
  level.type = first.op.type();
  level.rows = rows.size();
  for (const Timing timing : kTimings) {
    const std::optional<std::vector<double>> logs = LogsOf(models, rows, timing);
    if (!logs) {
      return std::nullopt;
    }
    const double mean = Mean(*logs);
    level.factor_of_timing[static_cast<std::size_t>(timing)] = std::exp(mean);
    level.deviation = std::max(level.deviation, DeviationFrom(mean, *logs));
  }
  return level;
}

SiblingLevel ReadLevel(YamlFields& fields) {
  SiblingLevel level;
  level.gpu = fields.Text("gpu");
  if (const hardware::Gpu* gpu = hardware::FindGpu(level.gpu); !gpu || gpu->name != level.gpu) {
    fields.Wrong("gpu", "must be a GPU of the catalogue", level.gpu);
  }
  const std::string kind = fields.Text("operator");
  if (const std::optional<OperatorKind> found = FindOperatorKind(kind)) {
    level.kind = *found;
  } else {
    fields.Wrong("operator", "must be a kind of operators", kind);
  }
  const std::string type = fields.Text("type");
  if (const std::optional<DataType> found = FindDataType(type)) {
    level.type = *found;
  } else {
    fields.Wrong("type", "must be a data type", type);
  }
  for (const Timing timing : kTimings) {
    level.factor_of_timing[static_cast<std::size_t>(timing)] = fields.Positive(TimingName(timing));
  }
  level.deviation = fields.Positive("deviation");
  level.rows = static_cast<std::size_t>(fields.Count("rows", 1));
  fields.RefuseOthers();
  return level;
}

}  // namespace

std::vector<SiblingLevel> FitSiblingLevels(const ModelSet& models,
                                           std::span<const Measurement> rows) {
  ModelSet unlevelled = models;
  unlevelled.SetLevels({});
  std::vector<SiblingLevel> levels;
  for (const Rows& group : GroupsOf(rows)) {
    if (group.size() < kFewestRowsOfLevel) {
      continue;
    }
    if (std::optional<SiblingLevel> level = LevelOf(unlevelled, group)) {
      levels.push_back(*std::move(level));
    }
  }
  return levels;
}

std::string SiblingLevelsText(const SiblingLevels& levels) {
  std::string text = fmt::format(
      "# Written by `orrery fit siblings`: how many times longer operators take on GPUs that have "
      "few rows\n"
      "# than other GPUs would have it, by what is asked for (docs/formats/sibling-levels.md).\n"
      "format: {}\nversion: 1\nsources:\n",
      kFormat);
  for (const std::string& source : levels.sources) {
    text += fmt::format("  - \"{}\"\n", source);
  }
  text += "levels:\n";
  for (const SiblingLevel& level : levels.levels) {
    text += fmt::format("  - {{gpu: {}, operator: {}, type: {}", level.gpu,
                        SchemaOf(level.kind).name, DataTypeName(level.type));
    for (const Timing timing : kTimings) {
      text += fmt::format(", {}: {:.4g}", TimingName(timing),
                          level.factor_of_timing[static_cast<std::size_t>(timing)]);
    }
    text += fmt::format(", deviation: {:.3g}, rows: {}}}\n", level.deviation, level.rows);
  }
  return text;
}

Result<SiblingLevels> ParseSiblingLevels(const std::string& text, const std::string& name) {
  YAML::Node file;
  try {
    file = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {}", name, error.what()));
  }
  std::optional<Error> error;
  YamlFields fields(file, name, error);
  if (fields.Text("format") != kFormat || fields.Count("version", 1) != 1) {
    fields.Wrong("format", fmt::format("must be {} of version 1", kFormat), "another");
  }
  SiblingLevels read;
  read.sources = fields.Texts("sources");
  for (YamlFields& level : fields.Maps("levels")) {
    read.levels.push_back(ReadLevel(level));
  }
  fields.RefuseOthers();
  if (error) {
    return tl::unexpected(*error);
  }
  return read;
}

}  // namespace orrery::kernel
