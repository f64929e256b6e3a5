#pragma once

#include <cstddef>
#include <span>

namespace orrery::capture {

/// Calls of the function `name` go to `function` instead.
struct Redirection {
  const char* name;
  void* function;
};

/// Redirects the calls that loaded programs and libraries make through their linkage tables, except
/// those that contain one of the addresses `except`. Returns how many references it changed. To be
/// called again when more was loaded; costs a few milliseconds for a library of PyTorch's size.
std::size_t RedirectCalls(std::span<const Redirection> redirections,
                          std::span<const void* const> except);

/// Grows whenever something is loaded.
[[nodiscard]] unsigned long long NumLoadedSoFar();

}  // namespace orrery::capture
