#pragma once

#include <cstdint>
#include <string>

namespace orrery {

/// A row of measurements that is not used, and why.
struct RejectedRow {
  std::uint32_t file = 0;  // place in a list of names
  std::uint32_t line = 0;  // 0: not known
  std::string reason;
};

}  // namespace orrery
