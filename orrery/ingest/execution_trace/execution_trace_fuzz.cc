#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/ingest/execution_trace/execution_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = orrery::ingest::InputFile::FromMemory("fuzz", bytes);
  if (file) {
    const orrery::ingest::Format& format = orrery::ingest::execution_trace::GetFormat();
    static_cast<void>(format.matches(*file));
    static_cast<void>(format.read(*file, {}).has_value());
  }
  return 0;
}
