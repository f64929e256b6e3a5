#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/compat/echo/echo_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::compat::echo;
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto graph = ParseEchoGraph(json);
  const auto times = ParseEchoTimes(json);
  if (graph) {
    static_cast<void>(ProgramOfEcho(*graph, times.value_or(EchoTimes{})));
  }
  return 0;
}
