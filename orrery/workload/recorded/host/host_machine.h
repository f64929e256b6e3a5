#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/recorded/host/host_pace.h"

namespace orrery::workload {

/// A host whose speed is known, against that of the built-in costs.
struct HostMachine {
  std::string name;
  std::string cpu;
  HostPace pace;
  std::int64_t samples = 0;  // recordings or measured processes
  std::string source;
};

/// The hosts that were measured or recorded (data/host/machines.yaml).
[[nodiscard]] const std::vector<HostMachine>& KnownHosts();

/// Returns the host of that name; nullptr for none.
[[nodiscard]] const HostMachine* FindHost(std::string_view name);

/// The pace of a host by its costs, as `orrery measure host` writes them: geometric means of their
/// ratios to those of the reference. Without a GPU launches are taken to be as slow as operators.
/// Errors begin with `place`.
[[nodiscard]] Result<HostPace> PaceOfMeasuredHost(std::string_view yaml, std::string_view place);

}  // namespace orrery::workload
