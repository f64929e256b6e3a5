#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/base/document/parse_json.h"

// Any text gives a value or an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(orrery::ParseJson({reinterpret_cast<const char*>(data), size}));
  return 0;
}
