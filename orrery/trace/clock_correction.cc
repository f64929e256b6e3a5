#include "orrery/trace/clock_correction.h"

#include <cstddef>
#include <cstdint>

#include "orrery/base/check.h"
#include "orrery/trace/clock_alignment.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kPsPerNs = 1'000;

std::int64_t FloorDivide(std::int64_t dividend, std::int64_t divisor) {
  const std::int64_t quotient = dividend / divisor;
  return quotient * divisor > dividend ? quotient - 1 : quotient;
}

// Whole seconds and the rest apart, so that the products fit.
std::int64_t DriftNs(std::int64_t drift_ps_per_s, std::int64_t elapsed_ns) {
  const std::int64_t seconds = FloorDivide(elapsed_ns, kNsPerSecond);
  const std::int64_t rest_ns = elapsed_ns - seconds * kNsPerSecond;
  return FloorDivide(seconds * drift_ps_per_s + FloorDivide(rest_ns * drift_ps_per_s, kNsPerSecond),
                     kPsPerNs);
}

// Only nodes of execution traces are without a time, which is -1 there.
template <typename Table>
bool HasTime(const Table& table, std::size_t row) {
  if constexpr (requires { table.op_schema; }) {
    return table.begin_ns[row] >= 0;
  }
  return true;
}

template <typename Table>
void CorrectTable(const RankClock& clock, Table& table) {
  if constexpr (requires { table.begin_ns; }) {
    for (std::size_t row = 0; row < table.size(); ++row) {
      if (!HasTime(table, row)) {
        continue;
      }
      const std::int64_t begin_ns = table.begin_ns[row];
      table.begin_ns[row] = CorrectedTime(clock, begin_ns);
      if constexpr (requires { table.duration_ns; }) {
        if (table.duration_ns[row] > 0) {
          table.duration_ns[row] =
              CorrectedTime(clock, begin_ns + table.duration_ns[row]) - table.begin_ns[row];
        }
      }
      if constexpr (requires { table.end_ns; }) {
        table.end_ns[row] = CorrectedTime(clock, table.end_ns[row]);
      }
    }
  }
}

}  // namespace

std::int64_t CorrectedTime(const RankClock& clock, std::int64_t time_ns) {
  return time_ns - clock.offset_ns - DriftNs(clock.drift_ps_per_s, time_ns - clock.drift_origin_ns);
}

void ApplyAlignment(TraceSet& set, const ClockAlignment& alignment) {
  ORRERY_CHECK(set.ranks.size() == alignment.ranks.size(), "an alignment of another set");
  for (std::size_t index = 0; index < set.ranks.size(); ++index) {
    if (alignment.ranks[index].apply) {
      ForEachTable(set.ranks[index],
                   [&](const char*, auto& table) { CorrectTable(alignment.ranks[index], table); });
    }
  }
}

}  // namespace orrery::trace
