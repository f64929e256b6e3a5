#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest::nsys {
const Format& GetFormat();
}

// Any bytes: recognised or not, read or refused, but never a crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::ingest::InputFile;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = InputFile::FromMemory("fuzz.sqlite", bytes);
  if (file) {
    const auto& format = orrery::ingest::nsys::GetFormat();
    (void)format.matches(*file);
    (void)format.read(*file, {});
  }
  return 0;
}
