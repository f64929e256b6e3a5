#include "orrery/learn/byte_planes.h"

#include <algorithm>
#include <bit>
#include <string>

namespace orrery::learn {
namespace {

constexpr std::size_t kMaxPlanes = 4;

std::size_t PlanesFor(std::span<const std::uint32_t> numbers) {
  const auto largest = std::max_element(numbers.begin(), numbers.end());
  const std::size_t bits =
      largest == numbers.end() ? 0 : static_cast<std::size_t>(std::bit_width(*largest));
  return (bits + 7) / 8;
}

std::uint32_t FoldSign(std::int32_t number) {
  const auto bits = static_cast<std::uint32_t>(number);
  return number < 0 ? ~(bits << 1) : bits << 1;
}

std::int32_t UnfoldSign(std::uint32_t folded) {
  return static_cast<std::int32_t>((folded & 1) != 0 ? ~(folded >> 1) : folded >> 1);
}

// Returns a text of `size` bytes, or zeros when the reader has none such.
std::string TextOfSize(ByteReader& reader, std::size_t size) {
  std::string text = reader.Text();
  if (text.size() != size) {
    reader.SetFailed();
  }
  return reader.failed() ? std::string() : text;
}

}  // namespace

void WritePlanes(ByteWriter& writer, std::span<const std::uint32_t> numbers) {
  const std::size_t num_planes = PlanesFor(numbers);
  std::string planes;
  planes.reserve(num_planes * numbers.size());
  for (std::size_t plane = 0; plane < num_planes; ++plane) {
    for (const std::uint32_t number : numbers) {
      planes.push_back(static_cast<char>(number >> (8 * plane)));
    }
  }
  writer.Number(static_cast<std::uint8_t>(num_planes));
  writer.Text(planes);
}

std::vector<std::uint32_t> ReadPlanes(ByteReader& reader, std::size_t count) {
  const std::size_t num_planes = reader.Number<std::uint8_t>();
  if (num_planes > kMaxPlanes) {
    reader.SetFailed();
  }
  const std::string planes = TextOfSize(reader, num_planes * count);
  if (reader.failed()) {
    return {};
  }
  std::vector<std::uint32_t> numbers(count);
  for (std::size_t index = 0; index < planes.size(); ++index) {
    const std::uint32_t byte = static_cast<unsigned char>(planes[index]);
    numbers[index % count] |= byte << (8 * (index / count));
  }
  return numbers;
}

void WriteSignedPlanes(ByteWriter& writer, std::span<const std::int32_t> numbers) {
  std::vector<std::uint32_t> folded(numbers.size());
  std::transform(numbers.begin(), numbers.end(), folded.begin(), FoldSign);
  WritePlanes(writer, folded);
}

std::vector<std::int32_t> ReadSignedPlanes(ByteReader& reader, std::size_t count) {
  const std::vector<std::uint32_t> folded = ReadPlanes(reader, count);
  std::vector<std::int32_t> numbers(folded.size());
  std::transform(folded.begin(), folded.end(), numbers.begin(), UnfoldSign);
  return numbers;
}

void WriteFlags(ByteWriter& writer, std::span<const std::uint8_t> flags) {
  std::string bytes((flags.size() + 7) / 8, '\0');
  for (std::size_t index = 0; index < flags.size(); ++index) {
    const int bit = flags[index] != 0 ? 1 << (index % 8) : 0;
    bytes[index / 8] = static_cast<char>(bytes[index / 8] | bit);
  }
  writer.Text(bytes);
}

std::vector<std::uint8_t> ReadFlags(ByteReader& reader, std::size_t count) {
  const std::string bytes = TextOfSize(reader, (count + 7) / 8);
  if (reader.failed()) {
    return {};
  }
  std::vector<std::uint8_t> flags(count);
  for (std::size_t index = 0; index < count; ++index) {
    flags[index] = static_cast<std::uint8_t>((bytes[index / 8] >> (index % 8)) & 1);
  }
  return flags;
}

void WriteFloats(ByteWriter& writer, std::span<const float> values) {
  for (const float value : values) {
    writer.Number(std::bit_cast<std::uint32_t>(value));
  }
}

std::vector<float> ReadFloats(ByteReader& reader, std::size_t count) {
  std::vector<float> values;
  for (std::size_t index = 0; index < count && !reader.failed(); ++index) {
    values.push_back(std::bit_cast<float>(reader.Number<std::uint32_t>()));
  }
  return reader.failed() ? std::vector<float>() : values;
}

void WriteDouble(ByteWriter& writer, double value) {
  writer.Number(std::bit_cast<std::uint64_t>(value));
}

double ReadDouble(ByteReader& reader) {
  return std::bit_cast<double>(reader.Number<std::uint64_t>());
}

}  // namespace orrery::learn
