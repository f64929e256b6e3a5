#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The frame of a recorded event stream (docs/formats/orrs.md): a file header, then independent
// chunks. Header-only and without dependencies: recorders are built with a compiler alone.

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

inline constexpr std::string_view kMagic = "ORRS";
inline constexpr std::string_view kMarker = "ORCK";
inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 0;
inline constexpr std::size_t kFileHeaderBytes = 16;
inline constexpr std::size_t kChunkHeaderBytes = 40;

/// The most bytes that a chunk holds once it is unpacked; bounds the memory of readers.
inline constexpr std::uint32_t kMaxRawBytes = 64 << 20;

/// The type of the records of a chunk. Stored by number: append at the end, never reorder.
enum class ChunkType : std::uint16_t {
  kHeader = 1,        // HDR: who recorded, on which devices
  kStrings = 2,       // STR
  kStacks = 3,        // STK
  kModules = 4,       // MOD
  kFunctions = 5,     // FUN
  kEvents = 6,        // EVT: what happened, in order
  kObjects = 7,       // OBJ: memory that no event of the stream allocates
  kTouches = 8,       // AGG: what a launch did to an object
  kTensorMaps = 9,    // TMD: what a launch can reach by its arguments
  kAccesses = 10,     // TRC: single accesses of warps
  kCoverage = 11,     // COV: what was not seen, and what was lost
  kCalibration = 12,  // CAL: what the recording itself cost
};

enum class Codec : std::uint16_t { kNone = 0, kZstd = 1 };

/// The first bytes of a chunk.
struct ChunkHeader {
  ChunkType type = ChunkType::kHeader;
  Codec codec = Codec::kNone;
  std::uint64_t first_sequence = 0;
  std::uint32_t num_records = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t buffer = 0;  // number of the producer
  std::uint32_t payload_crc = 0;

  bool operator==(const ChunkHeader&) const = default;
};

namespace frame {

/// Stores a number at `offset`, little-endian on any machine.
template <typename T>
void Put(char* bytes, std::size_t offset, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[offset + i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
  }
}

template <typename T>
T Get(std::string_view bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(T); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i - 1]);
  }
  return static_cast<T>(value);
}

inline constexpr std::size_t kHeaderCrcOffset = 36;

}  // namespace frame

/// The bytes that every file begins with.
[[nodiscard]] inline std::array<char, kFileHeaderBytes> FileHeader() noexcept {
  std::array<char, kFileHeaderBytes> bytes{};
  kMagic.copy(bytes.data(), kMagic.size());
  frame::Put(bytes.data(), 4, kMajorVersion);
  frame::Put(bytes.data(), 6, kMinorVersion);
  return bytes;
}

/// Writes the 40 bytes of `header` to `bytes`, its checksum included.
inline void EncodeChunkHeader(const ChunkHeader& header, char* bytes) noexcept {
  kMarker.copy(bytes, kMarker.size());
  frame::Put(bytes, 4, static_cast<std::uint16_t>(header.type));
  frame::Put(bytes, 6, static_cast<std::uint16_t>(header.codec));
  frame::Put(bytes, 8, header.first_sequence);
  frame::Put(bytes, 16, header.num_records);
  frame::Put(bytes, 20, header.raw_bytes);
  frame::Put(bytes, 24, header.stored_bytes);
  frame::Put(bytes, 28, header.buffer);
  frame::Put(bytes, 32, header.payload_crc);
  frame::Put(bytes, frame::kHeaderCrcOffset, Crc32c({bytes, frame::kHeaderCrcOffset}));
}

/// Returns whether `bytes` begin with a chunk header whose checksum holds.
[[nodiscard]] inline bool IsChunkHeader(std::string_view bytes) noexcept {
  return bytes.size() >= kChunkHeaderBytes && bytes.starts_with(kMarker) &&
         frame::Get<std::uint32_t>(bytes, frame::kHeaderCrcOffset) ==
             Crc32c(bytes.substr(0, frame::kHeaderCrcOffset));
}

/// Reads what EncodeChunkHeader wrote; `bytes` must be a chunk header.
[[nodiscard]] inline ChunkHeader DecodeChunkHeader(std::string_view bytes) noexcept {
  return {.type = static_cast<ChunkType>(frame::Get<std::uint16_t>(bytes, 4)),
          .codec = static_cast<Codec>(frame::Get<std::uint16_t>(bytes, 6)),
          .first_sequence = frame::Get<std::uint64_t>(bytes, 8),
          .num_records = frame::Get<std::uint32_t>(bytes, 16),
          .raw_bytes = frame::Get<std::uint32_t>(bytes, 20),
          .stored_bytes = frame::Get<std::uint32_t>(bytes, 24),
          .buffer = frame::Get<std::uint32_t>(bytes, 28),
          .payload_crc = frame::Get<std::uint32_t>(bytes, 32)};
}

}  // namespace orrery::stream
