#pragma once

#include <string>

#include "orrery/api/call.h"
#include "orrery/api/input/run_input.h"
#include "orrery/base/error.h"
#include "orrery/workload/recorded/host/replayed_host.h"

namespace orrery::api {

/// A host that a request names, and where its speed is from.
struct NamedHost {
  workload::HostChoice choice;
  std::string source;
};

/// Reads what --host gives: costs of `orrery fit host` (.csv), a machine's speed by `orrery measure
/// host` (.yaml), the name of a known host, or else a recording of the machine. Nothing is the
/// shared costs. Costs alone leave a recording its own pace.
[[nodiscard]] Result<NamedHost> ReadHost(const std::string& host, const RunInput& reading,
                                         const Progress& progress);

}  // namespace orrery::api
