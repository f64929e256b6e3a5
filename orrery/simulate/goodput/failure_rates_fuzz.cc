#include <cstddef>
#include <cstdint>
#include <string>

#include "orrery/simulate/goodput/failure_rates.h"

// The first byte says whether the rest is a file of rates or a log.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 0) {
    (void)orrery::simulate::ReadFailureRates(text, "fuzz");
  } else {
    (void)orrery::simulate::ReadFailureLog(text);
  }
  return 0;
}
