#pragma once

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl_settings.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The thread blocks of a collective.
struct ChannelsUsed {
  int channels = 1;
  int threads = 512;  // per channel

  bool operator==(const ChannelsUsed&) const = default;
};

/// Returns the channels and threads that NCCL uses for a request: fewer channels, then fewer
/// threads, until each thread has enough work.
[[nodiscard]] ChannelsUsed ChannelsFor(const Fabric& fabric, const Request& request,
                                       Algorithm algorithm, Protocol protocol,
                                       const NcclSettings& settings);

/// Returns the protocol of send and receive, including all-to-all: LL for small messages.
[[nodiscard]] Protocol DirectProtocol(const Fabric& fabric, const Request& request);

/// Returns the payload of one of the eight steps of a channel's buffer. `settings` may set the
/// buffer of Simple; LL and LL128 have their own.
[[nodiscard]] Bytes StepPayload(Protocol protocol, const NcclSettings& settings);

}  // namespace orrery::collective
