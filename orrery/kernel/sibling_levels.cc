#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

constexpr auto kTimings = std::to_array({Timing::kKernels, Timing::kReplay, Timing::kEager});
constexpr std::string_view kFormat = "orrery sibling levels";

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
    return Invalid("{}: {}", name, error.what());
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
