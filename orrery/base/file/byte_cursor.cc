#include "orrery/base/file/byte_cursor.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "orrery/base/check.h"

namespace orrery {

static_assert(std::endian::native == std::endian::little,
              "containers are little-endian, and this code copies numbers as they are");

void ByteWriter::Text(std::string_view text) {
  ORRERY_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max(), "texts are below 4 GiB");
  Number(static_cast<std::uint32_t>(text.size()));
  bytes_.append(text);
}

void ByteWriter::EndRecord(std::size_t begin) {
  const std::size_t size = bytes_.size() - begin - sizeof(std::uint32_t);
  ORRERY_CHECK(size <= std::numeric_limits<std::uint32_t>::max(), "records are below 4 GiB");
  const auto stored = static_cast<std::uint32_t>(size);
  std::memcpy(bytes_.data() + begin, &stored, sizeof(stored));
}

std::string ByteReader::Text() {
  return std::string(Take(Number<std::uint32_t>()));
}

std::size_t ByteReader::Count(std::size_t min_bytes) {
  const auto count = Number<std::uint32_t>();
  if (count > rest_.size() / min_bytes) {
    failed_ = true;
    return 0;
  }
  return count;
}

std::string_view ByteReader::Take(std::size_t count) {
  if (failed_ || count > rest_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

}  // namespace orrery
