#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"

namespace orrery::cli {

/// Reads measured collectives: nccl-tests logs and tables (docs/formats/measured-collectives.md).
/// `cluster` names the machine of files that do not.
[[nodiscard]] Result<collective::Measurements> ReadCollectives(
    const std::vector<std::string>& paths, const std::string& cluster);

/// Says whether a file holds measured collectives: a log, or a table with their columns.
[[nodiscard]] bool IsCollectiveData(const std::string& path);

/// The models of a file, or the shipped ones when none is named.
[[nodiscard]] Result<collective::MachineModels> LoadMachineModels(const std::string& path);

}  // namespace orrery::cli
