#pragma once

#include <cstdint>

#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/recording.h"

namespace orrery::ingest::xplane {

/// Adds the device that a plane is of, as its stats describe it.
void AddDevice(const Plane& plane, std::int32_t device, trace::Trace& trace);

/// Adds the stats of a plane that is no device as metadata, and notes when the profile began.
void AddMetadata(const Plane& plane, Recording& recording);

}  // namespace orrery::ingest::xplane
