#include <cstddef>
#include <cstdint>

#include "orrery/ingest/torch_memory_timeline/torch_memory_timeline.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file =
      orrery::ingest::InputFile::FromMemory("fuzz", {reinterpret_cast<const char*>(data), size});
  if (file) {
    const auto& format = orrery::ingest::torch_memory_timeline::GetFormat();
    static_cast<void>(format.matches(*file));
    static_cast<void>(format.read(*file, {}));
  }
  return 0;
}
