#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/compat/echo/echo_rows.h"

namespace orrery::compat::echo {

/// Where in the pass a kernel ran. Known from the overlap ratios and the times alone, never from a
/// time together: a span of communication is a run of rows that overlap with it.
struct Place {
  std::uint32_t slowdown = 0;       // grows where communication begins: rows of one share it
  std::uint32_t rows_of_span = 0;  // rows that overlap in the span; 0 outside of one
  std::uint32_t whole_so_far = 0;  // rows that overlap for all their time, without a break, to here
  double span_ns = 0;              // alone time that overlaps in the span
  double since_ns = 0;             // … before this row
};

/// Long communication mostly waits for its peer and takes little of the GPU; short one moves data.
/// The first kernels of a span meet the start of it. So a place tells what ratios alone do not.
[[nodiscard]] std::vector<Place> PlacesOf(std::span<const EchoRow> rows);

}  // namespace orrery::compat::echo
