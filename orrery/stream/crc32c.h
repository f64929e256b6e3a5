#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Header-only and without dependencies: what records on a GPU machine is built with a compiler
// alone.

namespace orrery::stream {

namespace crc32c {

inline constexpr std::size_t kNumTables = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kNumTables>;

/// Table k gives what a byte contributes when k more bytes follow it in the same step.
consteval Tables MakeTables() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli, bits reversed
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    }
    tables[0][byte] = rest;
  }
  for (std::size_t table = 1; table < kNumTables; ++table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[table - 1][byte];
      tables[table][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

inline constexpr Tables kTables = MakeTables();

inline std::uint32_t OneByte(std::uint32_t crc, char byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
}

/// Takes eight bytes at once (slicing): a table look-up each, none of which waits for another.
inline std::uint32_t EightBytes(std::uint32_t crc, const char* bytes) {
  const auto at = [&](std::size_t i) {
    const std::uint32_t before = i < 4 ? crc >> (8 * i) : 0;
    return kTables[7 - i][(before ^ static_cast<unsigned char>(bytes[i])) & 0xFF];
  };
  return at(0) ^ at(1) ^ at(2) ^ at(3) ^ at(4) ^ at(5) ^ at(6) ^ at(7);
}

}  // namespace crc32c

/// Returns the CRC-32C (Castagnoli) of the bytes, as iSCSI and others define it.
[[nodiscard]] inline std::uint32_t Crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = 0xFFFFFFFF;
  std::size_t at = 0;
  for (; at + crc32c::kNumTables <= bytes.size(); at += crc32c::kNumTables) {
    crc = crc32c::EightBytes(crc, bytes.data() + at);
  }
  for (; at < bytes.size(); ++at) {
    crc = crc32c::OneByte(crc, bytes[at]);
  }
  return crc ^ 0xFFFFFFFF;
}

}  // namespace orrery::stream
