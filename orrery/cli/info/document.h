#pragma once

#include "orrery/base/value.h"
#include "orrery/ingest/run.h"
#include "orrery/report/document.h"

namespace orrery::cli {

/// The document of `orrery info`.
[[nodiscard]] report::Document InfoDocument(const ingest::Run& run);

/// Its JSON; the keys are in docs/formats/info-json.md.
[[nodiscard]] Value InfoData(const ingest::Run& run);

}  // namespace orrery::cli
