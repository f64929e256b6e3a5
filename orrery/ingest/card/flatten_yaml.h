#pragma once

#include <map>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::card {

using ScalarsByPath = std::map<std::string, std::string, std::less<>>;

/// Parses YAML and returns its scalars by folded dotted path. Of equal keys the last counts. The
/// error of text that is not YAML begins with line and column; nesting deeper than 64 and aliases
/// that unfold to more than 10,000 values are refused.
[[nodiscard]] Result<ScalarsByPath> FlattenYaml(std::string_view text, trace::ProblemLog& problems);

}  // namespace orrery::ingest::card
