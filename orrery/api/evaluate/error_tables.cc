#include "orrery/api/evaluate/error_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/api/error_metrics.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/learn/metrics.h"

namespace orrery::api {
namespace {

double NearestRank(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

std::vector<Document::Column> MetricColumns(const std::vector<std::string>& names) {
  std::vector<Document::Column> columns;
  for (const std::string& name : names) {
    columns.push_back({"", name, Unit::kText, 0});
  }
  for (const auto& [name, format] : {std::pair("rows", "{:.0f}"),
                                     {"MAPE", "{:.2f}"},
                                     {"GMAE", "{:.2f}"},
                                     {"median", "{:.1f}"},
                                     {"p95", "{:.1f}"},
                                     {"within 10 %", "{:.1f}"},
                                     {"bias", "{:+.1f}"},
                                     {"R2", "{:.4f}"}}) {
    columns.push_back({"", name, NumberFormat(format)});
  }
  return columns;
}

std::vector<Value> MetricCells(std::vector<Value> names, const learn::Evaluation& metrics) {
  names.insert(names.end(), {metrics.rows, metrics.mape, metrics.gmae, metrics.median, metrics.p95,
                             metrics.within_10, metrics.bias, metrics.r2_of_logs});
  return names;
}

ErrorMetrics MetricsOf(const learn::Evaluation& metrics) {
  return {.rows = static_cast<std::int64_t>(metrics.rows),
          .mape = metrics.mape,
          .gmae = metrics.gmae,
          .median = metrics.median,
          .p95 = metrics.p95,
          .r2 = metrics.r2_of_logs,
          .bias = metrics.bias,
          .within_5 = metrics.within_5,
          .within_10 = metrics.within_10,
          .within_15 = metrics.within_15,
          .error_of_sum = metrics.error_of_sum};
}

Document::List NotUsedList(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  return {.heading = fmt::format("Not used: {} rows", rows.size()),
          .items = RejectedLines(files, rows)};
}

draw::Spread ErrorSpread(draw::Series series, std::vector<double> errors) {
  ORRERY_CHECK(!errors.empty(), "a spread has values");
  std::ranges::sort(errors);
  double sum = 0;
  for (const double error : errors) {
    sum += error;
  }
  const double p95 = NearestRank(errors, 0.95);
  return {.series = std::move(series),
          .smallest = NearestRank(errors, 0.05),
          .lower_quartile = NearestRank(errors, 0.25),
          .median = NearestRank(errors, 0.5),
          .upper_quartile = NearestRank(errors, 0.75),
          .largest = p95,
          .note = fmt::format("mean {:.1f} %, 95 % below {:.1f} %, {} rows",
                              sum / static_cast<double>(errors.size()), p95, errors.size())};
}

}  // namespace orrery::api
