#pragma once

#include <optional>
#include <string_view>

namespace orrery::overlap {

/// A compute kernel of capture/overlap's own, whose blocks say when they ran.
struct StampedKernel {
  std::string_view kind;  // "stamped moves", …; static text
  double flops = 0;
  double bytes = 0;
};

/// Reads "stamped kind=moves blocks=528 threads=256 shared=0 work=1024"; nothing for other texts.
[[nodiscard]] std::optional<StampedKernel> ParseStampedKernel(std::string_view text);

}  // namespace orrery::overlap
