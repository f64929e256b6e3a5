#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace orrery::api::view {

static_assert(std::endian::native == std::endian::little, "answers are little-endian");

/// Appends numbers as they lie in memory.
template <typename T>
void AppendColumn(std::string& bytes, const std::vector<T>& column) {
  if (!column.empty()) {
    bytes.append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
  }
}

template <typename T>
void AppendNumber(std::string& bytes, T number) {
  char raw[sizeof(T)];
  std::memcpy(raw, &number, sizeof(T));
  bytes.append(raw, sizeof(T));
}

inline constexpr const char* kBinaryType = "application/octet-stream";

}  // namespace orrery::api::view
