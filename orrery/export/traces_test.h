#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/export/collective_spans.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// A whole second of the year 2026, from which the test traces count.
inline constexpr std::int64_t kTestSecondNs = 1'790'857'026'000'000'000;

/// Makes a small trace of one rank with a row in each table that is drawn:
///
///   host thread 598    step [100, 900), operator [110, 300), launch [120, 140)
///                      backward operator [400, 500) of the first one
///   stream 7           communication kernel [200, 260), copy [240, 300): they overlap
///   host thread 599    nothing but a mark and a memory event
///
/// Times in microseconds after kTestSecondNs + 250 ms; `shift_ns` moves the device rows.
[[nodiscard]] trace::Trace MakeTestTrace(std::int32_t rank, std::int64_t shift_ns = 0);

/// Makes two ranks, the kernel of rank 1 being 20 us later.
[[nodiscard]] trace::TraceSet MakeTestSet();

/// Makes the collective that the kernels of MakeTestSet are: rank 0 waits 20 us.
[[nodiscard]] CollectiveSpan MakeTestCollective();

}  // namespace orrery::exporting
