#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::torch_snapshot {

/// Memory snapshots of PyTorch (`torch.cuda.memory._dump_snapshot`), pickles that are read as data
/// and never run. Segments and tensors become memory objects, the history of the allocator becomes
/// memory events; what the history lost at its begin is worked out backwards from its end.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::torch_snapshot
