#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// The level for files that are written once and kept: higher ones gain nothing on data of some
/// megabytes.
inline constexpr int kSmallestZstdLevel = 19;

/// Returns `bytes` as one zstd frame, which names their number.
[[nodiscard]] std::string ZstdFrame(std::string_view bytes, int level = kSmallestZstdLevel);

}  // namespace orrery
