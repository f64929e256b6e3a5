#include "capture/cupti/wanted_calls.h"

#include <algorithm>
#include <array>

namespace orrery::capture {

bool IsWantedCall(std::string_view name) {
  constexpr std::array<std::string_view, 16> kPrefixes = {
      "cudaLaunch",    "cudaGraphLaunch", "cudaMemcpy",    "cudaMemset",
      "cudaMalloc",    "cudaFree",        "cudaHostAlloc", "cuLaunch",
      "cuGraphLaunch", "cuMemcpy",        "cuMemset",      "cuMemAlloc",
      "cuMemFree",     "cuMemHostAlloc",  "cuMemPrefetch", "cudaMemPrefetch"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace orrery::capture
