#pragma once

#include <cstdint>

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl_settings.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The thread blocks that a collective of a size gets.
struct ChannelsUsed {
  int channels = 1;
  int threads = 512;  // of one

  bool operator==(const ChannelsUsed&) const = default;
};

/// Returns how many channels and threads NCCL uses for a request: fewer, then smaller ones, until
/// each thread has enough to do.
[[nodiscard]] ChannelsUsed ChannelsFor(const Fabric& fabric, const Request& request,
                                       Algorithm algorithm, Protocol protocol,
                                       const NcclSettings& settings);

/// Returns the protocol of send and receive, also those of all-to-all: LL for small messages.
[[nodiscard]] Protocol DirectProtocol(const Fabric& fabric, const Request& request);

/// Returns the payload of one of the eight steps of a channel's buffer. `settings` may set the
/// buffer of Simple; LL and LL128 have their own.
[[nodiscard]] Bytes StepPayload(Protocol protocol, const NcclSettings& settings);

/// How the channels of a ring cut their share into rounds of chunks.
struct ChunkLoops {
  Bytes chunk{};  // payload that a rank sends at once
  std::int64_t rounds = 0;
  Bytes last_chunk{};  // of the last round, a multiple of 16 bytes

  bool operator==(const ChunkLoops&) const = default;
};

/// Returns the rounds of a ring: in each, every channel moves a chunk for each rank.
[[nodiscard]] ChunkLoops RingLoops(const Request& request, Protocol protocol, int ranks,
                                   int channels, const NcclSettings& settings);

/// Returns the chunk of reduction in the switch or PAT, which shrinks for small sizes; for all
/// others that of a ring.
[[nodiscard]] Bytes ChunkOf(const Fabric& fabric, const Request& request, Algorithm algorithm,
                            Protocol protocol, int channels, const NcclSettings& settings);

}  // namespace orrery::collective
