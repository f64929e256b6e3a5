#pragma once

#include <string>

#include "orrery/base/error.h"

namespace orrery::serve {

/// Returns the IP address that `listen` means: itself, or 127.0.0.1 for "localhost". Other names
/// are refused, so that no name server decides who can connect.
[[nodiscard]] Result<std::string> ListenAddress(const std::string& listen);

/// Says why nothing can listen there, after it was tried.
[[nodiscard]] Error WhyNotListening(const std::string& address, int port);

}  // namespace orrery::serve
