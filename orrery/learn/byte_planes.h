#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/byte_cursor.h"

namespace orrery::learn {

// Numbers as compressors like them: all lowest bytes, then all second bytes, and so on for as many
// as the largest number needs. A reader of damaged bytes fails (`failed()`) and gives zeros.

void WritePlanes(ByteWriter& writer, std::span<const std::uint32_t> numbers);
[[nodiscard]] std::vector<std::uint32_t> ReadPlanes(ByteReader& reader, std::size_t count);

/// Signed numbers become 0, -1, 1, -2, 2, … so that small ones have few bytes.
void WriteSignedPlanes(ByteWriter& writer, std::span<const std::int32_t> numbers);
[[nodiscard]] std::vector<std::int32_t> ReadSignedPlanes(ByteReader& reader, std::size_t count);

/// Eight flags a byte.
void WriteFlags(ByteWriter& writer, std::span<const std::uint8_t> flags);
[[nodiscard]] std::vector<std::uint8_t> ReadFlags(ByteReader& reader, std::size_t count);

void WriteFloats(ByteWriter& writer, std::span<const float> values);
[[nodiscard]] std::vector<float> ReadFloats(ByteReader& reader, std::size_t count);

void WriteDouble(ByteWriter& writer, double value);
[[nodiscard]] double ReadDouble(ByteReader& reader);

}  // namespace orrery::learn
