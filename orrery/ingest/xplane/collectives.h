#pragma once

#include "orrery/ingest/xplane/recording.h"

namespace orrery::ingest::xplane {

/// Fills the collectives of the finished trace from those that the recording knows of, one for
/// each activity that is one, in order of time.
void LinkCollectives(Recording& recording);

}  // namespace orrery::ingest::xplane
