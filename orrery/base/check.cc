#include "orrery/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace orrery {

void CheckFailed(std::string_view condition, std::string_view detail, std::source_location where) {
  const std::string line =
      fmt::format("orrery: internal error at {}:{}: {} ({}); this is a bug, please report it\n",
                  where.file_name(), where.line(), detail, condition);
  std::fputs(line.c_str(), stderr);
  std::abort();
}

}  // namespace orrery
