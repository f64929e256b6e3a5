#include <cstddef>
#include <cstdint>

#include "orrery/base/check.h"
#include "orrery/overlap/nsight_compute.h"

// Any text gives kernels or an error, and there is a kernel where there is no error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto counted =
      orrery::overlap::ParseNsightCompute({reinterpret_cast<const char*>(data), size});
  if (counted) {
    ORRERY_CHECK(!counted->kernels.empty(), "no kernels are an error");
  }
  return 0;
}
