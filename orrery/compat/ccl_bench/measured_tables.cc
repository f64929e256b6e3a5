#include "orrery/compat/ccl_bench/measured_tables.h"

#include <cstddef>

#include "orrery/compat/ccl_bench/outcome.h"

namespace orrery::compat::ccl_bench {
namespace {

void Take(const Table& table, std::string_view column, double& into) {
  if (table.num_rows() > 0) {
    into = table.Number(0, column).value_or(into);
  }
}

CompatResult OnlyRecord(const CompatRun& run, std::string_view column) {
  const Table* table = FindTable(run, "serving benchmark");
  if (table == nullptr || table->num_rows() != 1) {
    return Fails("needs a bench_results.jsonl with one record");
  }
  const auto value = table->Number(0, column);
  return value ? Number(*value) : Fails("the record has no " + std::string(column));
}

}  // namespace

const Table* FindTable(const CompatRun& run, std::string_view format) {
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format == format) {
      return measurement.rows;
    }
  }
  return nullptr;
}

std::optional<double> AverageLatencySeconds(const CompatRun& run) {
  const Table* table = FindTable(run, "latency benchmark");
  for (std::size_t row = 0; table != nullptr && row < table->num_rows(); ++row) {
    if (table->Text(row, "statistic") == "average") {
      return table->Number(row, "latency_s");
    }
  }
  return std::nullopt;
}

StepScoreSettings FindStepScoreSettings(const CompatRun& run) {
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

CompatResult ServingMedianTtft(const CompatRun& run) {
  return OnlyRecord(run, "median_ttft_ms");
}

CompatResult ServingMedianTpot(const CompatRun& run) {
  return OnlyRecord(run, "median_tpot_ms");
}

CompatResult ServingThroughput(const CompatRun& /*run*/) {
  return Fails("its function is never assigned");
}

}  // namespace orrery::compat::ccl_bench
