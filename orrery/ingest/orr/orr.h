#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::orr {

/// Orrery's own container (docs/formats/orr.md): gives the ranks, the card and the problems as they
/// were written.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::orr
