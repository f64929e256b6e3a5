#pragma once

#include <string>

namespace managed {

/// Returns a line of JSON: GPU, driver, CUDA, the host, and the settings of nvidia-uvm where they
/// can be read.
std::string MachineRow();

}  // namespace managed
