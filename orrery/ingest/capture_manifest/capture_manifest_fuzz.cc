#include <cstddef>
#include <cstdint>

#include "orrery/ingest/capture_manifest/capture_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file =
      orrery::ingest::InputFile::FromMemory("fuzz", {reinterpret_cast<const char*>(data), size});
  if (file) {
    const auto& format = orrery::ingest::capture_manifest::GetFormat();
    static_cast<void>(format.matches(*file));
    static_cast<void>(format.read(*file, {}));
  }
  return 0;
}
