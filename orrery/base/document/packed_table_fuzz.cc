#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <xxhash.h>

#include "orrery/base/check.h"
#include "orrery/base/document/packed_table.h"
#include "orrery/base/file/byte_cursor.h"

namespace {

// Hardly any bytes have the right checksum, so they get one.
std::string Sealed(std::string_view columns) {
  orrery::ByteWriter head;
  head.Number(std::uint32_t{1});
  head.Number(std::uint64_t{XXH64(columns.data(), columns.size(), 0)});
  return "ORRTABLE" + head.bytes() + std::string(columns);
}

}  // namespace

// Any bytes give a text or an error; a text that is packed comes back byte by byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(orrery::UnpackTable(Sealed(bytes)));
  const auto packed = orrery::PackTable(bytes);
  if (packed) {
    const auto again = orrery::UnpackTable(*packed);
    ORRERY_CHECK(again.has_value() && *again == bytes, "what was packed comes back");
  }
  return 0;
}
