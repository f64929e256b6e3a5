#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/error_metrics.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/learn/metrics.h"

// Errors of predictions in results and documents: metrics, columns, cells, charts.

namespace orrery::api {

/// Columns of `names` and of the error metrics of MetricCells.
[[nodiscard]] std::vector<Document::Column> MetricColumns(const std::vector<std::string>& names);

/// Cells of a row: `names`, then the error metrics.
[[nodiscard]] std::vector<Value> MetricCells(std::vector<Value> names,
                                             const learn::Evaluation& metrics);

/// The error metrics as a part of results.
[[nodiscard]] ErrorMetrics MetricsOf(const learn::Evaluation& metrics);

/// Lists rows that were not used; empty when all were.
[[nodiscard]] Document::List NotUsedList(std::span<const std::string> files,
                                         std::span<const RejectedRow> rows);

/// The caption of a chart of ErrorSpread.
inline constexpr std::string_view kSpreadCaption =
    "|error|: the bar ends at the median, the thick line spans the middle half of the rows, the "
    "thin one nine of ten";

/// The spread of errors in per cent, at least one: from the 5th to the 95th of a hundred, with
/// their mean in the note.
[[nodiscard]] draw::Spread ErrorSpread(draw::Series series, std::vector<double> errors);

}  // namespace orrery::api
