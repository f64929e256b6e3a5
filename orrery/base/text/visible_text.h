#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Returns text as people may see it on a terminal or a page: names of a trace come from outside.
/// What would act instead of being shown is written as an escape: control characters other than
/// line ends and tabs ("\u001b"), invisible characters and those that turn the direction of text
/// ("\u202e"), bytes that are not UTF-8 ("\xff").
[[nodiscard]] std::string VisibleText(std::string_view text);

}  // namespace orrery
