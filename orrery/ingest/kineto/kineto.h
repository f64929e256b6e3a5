#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::kineto {

/// Traces of the PyTorch profiler from 2021 to today, and other files of Chrome's JSON format.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::kineto
