#pragma once

#include <string>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Reads a whole file, unpacked. Damaged packing is an error: a workload is small, and half of one
/// is another workload.
[[nodiscard]] Result<std::string> ReadUnpackedFile(const std::string& path);

}  // namespace orrery::workload
