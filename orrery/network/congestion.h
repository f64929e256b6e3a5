#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery::network {

/// The share of a link's bandwidth that remains when flows compete for it under ECN-style control:
/// all for one flow, then `first - slope · log2(flows)`, never below `floor`.
struct CongestionModel {
  double first = 1;
  double slope = 0;
  double floor = 1;
  bool pauses = false;  // full links pause those in front of them: PauseSpread
  std::string source{};

  /// Share of the bandwidth that `competing` flows get together; never rises with their number.
  [[nodiscard]] double Goodput(double competing) const;
};

/// The entry of data/network/congestion.yaml with that name ("ecn", "lossless"), which is built
/// into the program; fails with the names there are.
[[nodiscard]] Result<CongestionModel> FindCongestionModel(std::string_view name);

}  // namespace orrery::network
