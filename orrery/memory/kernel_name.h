#pragma once

#include <string>
#include <string_view>

namespace orrery::memory {

/// Returns a kernel's name without what makes instances of one template differ: a leading "void ",
/// template arguments and parameters. Namespaces stay: "void at::native::add<float>(float*)" is
/// "at::native::add". Names that are cut off or not of C++ stay as far as they can be read.
[[nodiscard]] std::string ShortKernelName(std::string_view full_name);

}  // namespace orrery::memory
