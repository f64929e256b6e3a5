#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::xplane {

/// Recordings of the XLA profiler (`*.xplane.pb`), of TPUs and GPUs. Gives one trace for each file,
/// with all devices of its host; `tracks.device` tells them apart. Times count from 1970 where the
/// file says when the profile began, else from there. HLO protos (the plane `/host:metadata`) are
/// not read.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::xplane
