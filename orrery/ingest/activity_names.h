#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "orrery/trace/enums.h"

// Names that readers give to rows where the file has none; they are those of Kineto.

namespace orrery::ingest {

/// "HtoD" for kHostToDevice; empty where the direction is not known.
inline constexpr std::array<std::string_view, 12> kCopyDirections{
    "", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", ""};

/// Returns "Memcpy HtoD", or "Memcpy" where the direction is not known.
[[nodiscard]] inline std::string MemcpyName(trace::CopyKind kind) {
  const std::string_view direction = kCopyDirections[static_cast<std::size_t>(kind)];
  return std::string("Memcpy") + (direction.empty() ? "" : " ") + std::string(direction);
}

/// Returns "Stream Sync" for kStream.
[[nodiscard]] constexpr std::string_view SyncName(trace::SyncKind kind) {
  constexpr std::array<std::string_view, 6> kNames{
      "Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync", "Event Record"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace orrery::ingest
