#pragma once

#include <memory>

#include "orrery/base/error.h"
#include "orrery/distribute/launch.h"
#include "orrery/distribute/message_channel.h"

namespace orrery::distribute {

/// Connects this process with the others that were started with it, by MPI. An error where the
/// program is built without MPI (mpi_absent.cc) or with another one than the launcher's.
[[nodiscard]] Result<std::unique_ptr<MessageChannel>> ConnectByMpi(const Launch& launch);

}  // namespace orrery::distribute
