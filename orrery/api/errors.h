#pragma once

#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"

namespace orrery::api {

// Errors whose sentence is a format of fmt.

template <typename... Arguments>
[[nodiscard]] tl::unexpected<Error> InvalidInput(fmt::format_string<Arguments...> sentence,
                                                 Arguments&&... arguments) {
  return Fail(Error::Kind::kInvalidInput,
              fmt::format(sentence, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
[[nodiscard]] tl::unexpected<Error> NotFound(fmt::format_string<Arguments...> sentence,
                                             Arguments&&... arguments) {
  return Fail(Error::Kind::kNotFound, fmt::format(sentence, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
[[nodiscard]] tl::unexpected<Error> Unsupported(fmt::format_string<Arguments...> sentence,
                                                Arguments&&... arguments) {
  return Fail(Error::Kind::kUnsupported,
              fmt::format(sentence, std::forward<Arguments>(arguments)...));
}

}  // namespace orrery::api
