#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <cxxabi.h>

namespace orrery::capture {

/// Returns a kernel's name as people read it: "void add<float>(float*)" of "_Z3addIfEvPT_";
/// anything else as it is.
[[nodiscard]] inline std::string Demangled(std::string_view name) {
  const std::string mangled(name);
  if (!name.starts_with("_Z")) {
    return mangled;
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable != nullptr ? readable.get() : mangled;
}

}  // namespace orrery::capture
