#pragma once

#include <span>

#include "orrery/workload/program.h"

namespace orrery::workload {

/// Gives all programs the same slots, as an ensemble wants them: those of all of them, by name, in
/// order of first appearance.
void UniteSlots(std::span<Program> programs);

}  // namespace orrery::workload
