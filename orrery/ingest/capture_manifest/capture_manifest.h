#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::capture_manifest {

/// What `orrery capture` writes beside the streams of several processes: which they are, and how
/// many ranks the job had. Told by its first key, "orrery_manifest". Streams say all else of
/// themselves.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::capture_manifest
