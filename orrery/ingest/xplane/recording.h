#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {

/// What the planes of a file come to.
struct Recording {
  trace::Trace trace;

  /// By track: its times count from 1970, not from the start of the profile.
  std::vector<bool> has_epoch_times;

  /// What is known of collectives; until the rows are in order, `activities.collective` counts
  /// here.
  std::vector<trace::Collectives::Row> collectives;

  /// Rows of launch shapes by the text they were read from.
  tsl::robin_map<std::uint32_t, RowId> shape_of_details;

  /// When the profile began, since 1970.
  std::optional<std::int64_t> profile_start_ns;
};

}  // namespace orrery::ingest::xplane
