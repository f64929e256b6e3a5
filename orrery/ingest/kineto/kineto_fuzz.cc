#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/ingest/kineto/kineto.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = orrery::ingest::InputFile::FromMemory("fuzz.json", bytes);
  if (file && orrery::ingest::kineto::GetFormat().matches(*file)) {
    (void)orrery::ingest::kineto::GetFormat().read(*file, {.threads = 1});
  }
  return 0;
}
