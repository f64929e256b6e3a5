#include "orrery/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string_view>

#include <fmt/core.h>

namespace orrery {

void CheckFailed(std::string_view condition, std::string_view detail, std::source_location where) {
  fmt::print(stderr, "orrery: internal error at {}:{}: {} ({})\n", where.file_name(), where.line(),
             detail, condition);
  std::abort();
}

}  // namespace orrery
