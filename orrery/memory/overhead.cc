#include "orrery/memory/overhead.h"

#include <cmath>
#include <vector>
#include <vector>

#include "orrery/base/statistics.h"

namespace orrery::memory {

using trace::OverheadPhase;

std::string_view OverheadPhaseName(OverheadPhase phase) {
  switch (phase) {
    case OverheadPhase::kExecution:
      return "execution";
    case OverheadPhase::kCollection:
      return "collection";
    case OverheadPhase::kTransfer:
      return "transfer";
    case OverheadPhase::kAnalysis:
      return "analysis";
    case OverheadPhase::kWaiting:
      return "waiting";
    case OverheadPhase::kTotal:
      break;
  }
  return "total";
}

std::int64_t OverheadSummary::SumOfParts() const {
  std::int64_t sum = 0;
  for (const OverheadPart& part : parts) {
    sum += part.total_ns;
  }
  return sum;
}

std::int64_t OverheadSummary::RestNs() const {
  return total_ns ? *total_ns - SumOfParts() : 0;
}

bool OverheadSummary::Agrees(double tolerance_percent) const {
  const double limit = tolerance_percent / 100 * static_cast<double>(WholeNs());
  return std::abs(static_cast<double>(RestNs())) <= limit;
}

std::optional<std::int64_t> RecordedStepNs(const trace::Trace& trace) {
  const std::vector<std::int64_t>& durations = trace.steps.duration_ns;
  if (durations.empty()) {
    return std::nullopt;
  }
  const std::vector<double> later(durations.begin() + (durations.size() > 1 ? 1 : 0),
                                  durations.end());
  return static_cast<std::int64_t>(Median(later));
}

OverheadSummary OverheadOf(const trace::Trace& trace) {
  OverheadSummary summary;
  const trace::Overheads& rows = trace.overheads;
  for (RowId row = 0; row < rows.size(); ++row) {
    if (rows.phase[row] == OverheadPhase::kTotal) {
      summary.total_ns = summary.total_ns.value_or(0) + rows.total_ns[row];
      continue;
    }
    OverheadPart& part = summary.parts[static_cast<std::size_t>(rows.phase[row])];
    part.total_ns += rows.total_ns[row];
    part.count += rows.count[row];
    part.bytes += rows.bytes[row];
  }
  return summary;
}

}  // namespace orrery::memory
