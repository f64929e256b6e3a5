#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::torch_memory_timeline {

/// Memory timelines of the PyTorch profiler (`export_memory_timeline`): changes of what each
/// category of tensors holds, as memory events whose name is the category. Both forms are read:
/// "[times, sizes]" (.json), and one entry a change (.raw.json).
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::torch_memory_timeline
