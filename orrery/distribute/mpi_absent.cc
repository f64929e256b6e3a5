// The build without MPI.
#include <memory>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/distribute/launch.h"
#include "orrery/distribute/message_channel.h"
#include "orrery/distribute/mpi_channel.h"

namespace orrery::distribute {

Result<std::unique_ptr<MessageChannel>> ConnectByMpi(const Launch& launch) {
  return Fail(
      Error::Kind::kUnsupported,
      fmt::format("{} processes were started, but this program was built without MPI: start "
                  "one process, or install libopenmpi-dev and build with -DORRERY_MPI=ON",
                  launch.processes));
}

}  // namespace orrery::distribute
