#pragma once

#include <string>

#include "orrery/ingest/input_file.h"

namespace orrery::ingest {

/// For a file that no reader takes: one sentence that names what it seems to be and what to do.
[[nodiscard]] std::string DescribeForeignFile(const InputFile& file);

}  // namespace orrery::ingest
