#include "orrery/ingest/xplane/collectives.h"

namespace orrery::ingest::xplane {

void LinkCollectives(Recording& recording) {
  trace::Activities& activities = recording.trace.activities;
  for (RowId row = 0; row < activities.size(); ++row) {
    if (activities.collective[row] == kNoRow) {
      continue;
    }
    trace::Collectives::Row collective = recording.collectives[activities.collective[row]];
    collective.begin_ns = activities.begin_ns[row];
    collective.duration_ns = activities.duration_ns[row];
    collective.name = activities.name[row];
    collective.track = activities.track[row];
    collective.num_kernels = 1;
    activities.collective[row] = recording.trace.collectives.Append(collective);
  }
}

}  // namespace orrery::ingest::xplane
