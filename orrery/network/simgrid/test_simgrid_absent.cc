#include "orrery/network/simgrid/simgrid_test.h"

namespace orrery::network::simgrid {

bool IsInstalled() {
  return false;
}

Result<Run> Simulate(std::span<const double> /*capacity_of_link*/, std::span<const Flow> /*flows*/,
                     std::uint32_t /*num_hosts*/, int /*rounds*/) {
  return Fail(Error::Kind::kUnsupported, "SimGrid is not installed; install libsimgrid-dev");
}

}  // namespace orrery::network::simgrid
