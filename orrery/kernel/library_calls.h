#pragma once

#include <string>
#include <string_view>

namespace orrery::kernel {

/// The factor by which a GEMM takes longer as a training framework calls its library than with the
/// fastest kernel that a search found (data/models/library_calls.yaml).
struct LibraryCalls {
  double factor = 1;
  double deviation = 0;  // of ln(factor) over the published rates that it was fitted to
  std::string source = {};
};

/// Those of a vendor's library; a factor of 1 for vendors whose kernels were not searched for.
[[nodiscard]] const LibraryCalls& LibraryCallsOf(std::string_view vendor);

}  // namespace orrery::kernel
