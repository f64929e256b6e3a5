#pragma once

#include <span>
#include <string>

#include "orrery/base/error.h"

namespace orrery::cli {

/// Refuses a file to write that is also read, whatever its names: links and hard links are the same
/// file. A folder that is read stands for the recordings in it. Words that name no file are
/// ignored; of "key=value" the value counts as well.
[[nodiscard]] Status CheckInputsAreKept(std::span<const std::string> read,
                                        std::span<const std::string> written);

}  // namespace orrery::cli
