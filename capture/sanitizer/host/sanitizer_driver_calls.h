#pragma once

#include <span>

#include <sanitizer.h>

#include "capture/sanitizer/host/session.h"

namespace orrery::capture::sanitizer {

/// The functions of the driver whose calls are told of.
[[nodiscard]] std::span<const Sanitizer_CallbackId> DriverFunctions();

/// A thread enters or leaves one of them.
void OnDriverCallback(Session& session, Sanitizer_CallbackId id,
                      const Sanitizer_CallbackData& data);

}  // namespace orrery::capture::sanitizer
