#include "orrery/compat/ccl_bench/run_inputs.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "orrery/analyze/card_fields.h"

namespace orrery::compat::ccl_bench {
namespace {

void Take(const Table& table, std::string_view column, double& into) {
  if (table.num_rows() > 0) {
    into = table.Number(0, column).value_or(into);
  }
}

constexpr std::string_view kPcieFamily = "qwen-32b";

constexpr auto kFamilies =
    std::to_array<std::string_view>({"deepseek-v2-lite", "llama-3.1-8B", kPcieFamily});

}  // namespace

const Table* FindTable(const Run& run, std::string_view format) {
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format == format) {
      return measurement.rows;
    }
  }
  return nullptr;
}

std::optional<double> AverageLatencySeconds(const Run& run) {
  const Table* table = FindTable(run, "latency benchmark");
  for (std::size_t row = 0; table != nullptr && row < table->num_rows(); ++row) {
    if (table->Text(row, "statistic") == "average") {
      return table->Number(row, "latency_s");
    }
  }
  return std::nullopt;
}

StepScoreSettings FindStepScoreSettings(const Run& run) {
  StepScoreSettings settings;
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format != "step score") {
      continue;
    }
    Take(*measurement.rows, "g0", settings.reference_gpus);
    Take(*measurement.rows, "t0_s", settings.reference_seconds);
    Take(*measurement.rows, "w", settings.weight);
    if (measurement.rows->num_rows() > 0 && !settings.gpus) {
      settings.gpus = measurement.rows->Number(0, "gpus");
    }
  }
  return settings;
}

std::optional<std::string_view> FamilyOfGroup6(const Run& run) {
  const auto family = analyze::CardText(*run.set, "model_family");
  return family && std::ranges::count(kFamilies, *family) > 0 ? family : std::nullopt;
}

bool IsPcieFamily(std::string_view family) {
  return family == kPcieFamily;
}

}  // namespace orrery::compat::ccl_bench
