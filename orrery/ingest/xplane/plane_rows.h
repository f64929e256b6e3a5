#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/xplane/plane.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {

/// The trace of a file, and state that the planes share.
struct Recording {
  trace::Trace trace;

  /// By track: its times count from 1970, not from the start of the profile.
  std::vector<bool> has_epoch_times;

  /// The known properties of collectives; until the rows are in order, `activities.collective` is
  /// an index into this list.
  std::vector<trace::Collectives::Row> collectives;

  /// Rows of launch shapes by the text they were read from.
  tsl::robin_map<std::uint32_t, RowId> shape_of_details;

  /// When the profile began, since 1970.
  std::optional<std::int64_t> profile_start_ns;
};

/// Adds the rows of a plane to the recording.
///
/// Streams of GPUs and the operations of TPU cores are activities. Asynchronous work comes from the
/// profiler's line of it, or, where that is empty, from its halves. What is no work of its own is
/// an annotation on the device: whole programs, waits, loops around operations, the two halves of
/// asynchronous operations (a done is the core's waiting for it), and other lines. On the host,
/// what has a correlation is a runtime call, all else an annotation.
///
/// A TPU's reading of its own clock (device_offset_ps, device_duration_ps) is not kept in `extra`:
/// it repeats the times of the row, and would give each row a text of its own.
void AddPlane(const Plane& plane, Recording& recording);

}  // namespace orrery::ingest::xplane
