#pragma once

#include <cstdint>

#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_walk.h"
#include "orrery/workload/recorded/recorded_waits.h"

namespace orrery::workload {

/// The streams on which communications run.
enum class CommunicationStreams : std::uint8_t {
  kOfTheirGroup,  // behind what was launched before; who touches what they write waits for them
  kAsRecorded,    // with the waits that were recorded; messages beside each other
};

/// Puts kernels on their streams in the order of their launches, and adds the dependencies of
/// waits.
///
/// A message runs on a lane of its own, behind what its stream had before it, and counts as work of
/// that stream for those who wait for it: what one rank sends and receives at once, in whatever
/// order, its neighbours do at once.
void FillStreams(const HostModel& host, CommunicationStreams communications,
                 const RecordedWaits& waits, WalkResult& result);

}  // namespace orrery::workload
