#pragma once

#include <optional>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

// What the page says about the collectives of the selected steps.

/// Returns those that were matched without doubt; where none is, those of each rank as they are.
[[nodiscard]] std::vector<CollectivePoint> CollectivePoints(const analyze::RunView& run);

/// Returns link bandwidths: those of the card, else of the device's data sheet.
[[nodiscard]] std::vector<Roof> Roofs(const analyze::RunView& run);

/// Returns how late ranks were at synchronising collectives. Collectives of groups that have no
/// rank in common share a column, so that there are about as many columns as a rank has calls.
[[nodiscard]] std::optional<Arrivals> ArrivalTable(const analyze::RunView& run);

/// Returns the ranks that others waited for, most blamed first.
[[nodiscard]] std::vector<Straggler> Stragglers(const analyze::RunView& run);

}  // namespace orrery::report
