#pragma once

#include <source_location>
#include <string_view>

namespace orrery {

/// Prints the condition, the detail and the place, and aborts: for our own mistakes only.
[[noreturn]] void CheckFailed(std::string_view condition, std::string_view detail,
                              std::source_location where = std::source_location::current());

}  // namespace orrery

/// Stops the program when we made a mistake. What a user can trigger is an Error, not a check.
#define ORRERY_CHECK(condition, detail)            \
  do {                                             \
    if (!(condition)) {                            \
      ::orrery::CheckFailed(#condition, (detail)); \
    }                                              \
  } while (false)
