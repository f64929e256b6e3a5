#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/network/topology_text.h"

// Any bytes are a topology or an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(orrery::network::ReadTopologyText(text, "fuzz"));
  return 0;
}
