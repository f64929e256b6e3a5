#pragma once

#include <string_view>


#include "orrery/cli/verb.h"

namespace orrery::cli {

/// Makes `verb` hand all its words over to orrery-capture, the program that runs on GPU machines,
/// as its verb `name`. Returns to the caller only when that program cannot be started.
void HandOverToCapture(Verb& verb, std::string_view name);

}  // namespace orrery::cli
