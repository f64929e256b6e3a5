#include <cstddef>
#include <cstdint>

#include "orrery/ingest/rocprofv3/rocprofv3.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file =
      orrery::ingest::InputFile::FromMemory("fuzz", {reinterpret_cast<const char*>(data), size});
  if (file) {
    const auto& format = orrery::ingest::rocprofv3::GetFormat();
    static_cast<void>(format.matches(*file));
    auto content = format.read(*file, {});
    if (content && content->part) {
      content->part->complete(content->traces[0], {});
    }
  }
  return 0;
}
