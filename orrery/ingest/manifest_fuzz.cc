#include <cstddef>
#include <cstdint>

#include "orrery/ingest/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file =
      orrery::ingest::InputFile::FromMemory("fuzz", {reinterpret_cast<const char*>(data), size});
  if (file) {
    static_cast<void>(orrery::ingest::IsManifest(*file));
    static_cast<void>(orrery::ingest::ReadManifest(*file));
  }
  return 0;
}
