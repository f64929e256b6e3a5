#pragma once

#include <span>

#include "orrery/workload/program.h"

namespace orrery::workload {

/// Gives all programs the same roles, as an ensemble wants them: those of all of them, by name, in
/// order of first appearance.
void UniteGroupRoles(std::span<Program> programs);

}  // namespace orrery::workload
