#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/workload/import/chakra_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto& trace :
       {orrery::workload::ParseChakra(bytes), orrery::workload::ParseChakraJson(bytes)}) {
    if (trace) {
      const std::vector<orrery::workload::ChakraTrace> ranks{*trace, *trace};
      static_cast<void>(orrery::workload::EnsembleOfChakra(ranks));
    }
  }
  return 0;
}
