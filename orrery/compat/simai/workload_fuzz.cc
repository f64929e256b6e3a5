#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/compat/simai/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(orrery::compat::simai::LooksLikeWorkload(text));
  static_cast<void>(orrery::compat::simai::ParseWorkload(text));
  return 0;
}
