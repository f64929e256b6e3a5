#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/compat/echo/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::compat::echo;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto graph = ParseGraph(json);
  const auto times = ParseTimes(json);
  if (graph) {
    static_cast<void>(MakeProgram(*graph, times.value_or(OperatorTimes{})));
  }
  return 0;
}
