#include "orrery/collective/channels_used.h"

#include <algorithm>
#include <array>
#include <span>

#include "orrery/collective/channel_tables.h"

namespace orrery::collective {
namespace {

constexpr int kWarp = 32;
constexpr int kMostThreads = 640;
constexpr std::int64_t kSimpleBuffer = std::int64_t{4} << 20;
constexpr std::int64_t kStepsOfBuffer = 8;
constexpr std::int64_t kLlStepPayload = 32'768;      // half of 64 KiB are flags
constexpr std::int64_t kLl128StepPayload = 576'000;  // 120 of 128 bytes of 614,400

bool IsNvls(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
}

bool IsCollnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollnetDirect || algorithm == Algorithm::kCollnetChain;
}

int AllChannels(const Fabric& fabric, Algorithm algorithm, const NcclSettings& settings) {
  const auto generation = static_cast<std::size_t>(fabric.generation);
  std::int64_t channels =
      IsNvls(algorithm)
          ? EmbeddedChannelTables().nvls_channels[generation][fabric.nodes == 1 ? 0 : 1]
          : DoubledChannels(fabric.rings, fabric.generation, fabric.nodes);
  channels = std::max(channels, settings.min_channels.value_or(1));
  return static_cast<int>(std::min(channels, settings.max_channels.value_or(channels)));
}

int AllThreads(Algorithm algorithm, Protocol protocol) {
  const bool wide = protocol == Protocol::kLl128 || IsNvls(algorithm) || IsCollnet(algorithm);
  return wide ? kMostThreads : 512;
}

// The least bytes per thread for another channel.
std::int64_t Threshold(const Fabric& fabric, Algorithm algorithm, Protocol protocol) {
  if (IsCollnet(algorithm)) {
    return 512;
  }
  if (protocol == Protocol::kSimple) {
    return 64;
  }
  const bool ring_ll = algorithm == Algorithm::kRing && protocol == Protocol::kLl;
  return ring_ll ? 8 * std::int64_t{fabric.ranks} : 8;
}

int WithSynchronisation(Algorithm algorithm, Protocol protocol, int threads) {
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kRing) {
    threads += kWarp;
  }
  const bool needs_all = algorithm == Algorithm::kPat ||
                         (protocol == Protocol::kSimple && algorithm == Algorithm::kTree);
  return needs_all ? kMostThreads : std::max(threads, 3 * kWarp);
}

std::int64_t CeilDivide(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

ChannelsUsed ChannelsFor(const Fabric& fabric, const Request& request, Algorithm algorithm,
                         Protocol protocol, const NcclSettings& settings) {
  ChannelsUsed used{.channels = AllChannels(fabric, algorithm, settings),
                    .threads = AllThreads(algorithm, protocol)};
  const std::int64_t threshold = Threshold(fabric, algorithm, protocol);
  const auto has_little = [&] {
    return request.size.count < std::int64_t{used.channels} * used.threads * threshold;
  };
  if (!IsNvls(algorithm)) {
    while (has_little() && used.channels > 1) {
      --used.channels;
    }
    while (has_little() && !IsCollnet(algorithm) && used.threads % 128 == 0) {
      used.threads /= 2;
    }
  }
  used.threads = WithSynchronisation(algorithm, protocol, used.threads);
  return used;
}

Protocol DirectProtocol(const Fabric& fabric, const Request& request) {
  const ChannelTables& tables = EmbeddedChannelTables();
  const bool all_to_all = request.kind == CollectiveKind::kAllToAll;
  const std::int64_t message = request.size.count / (all_to_all ? std::max(fabric.ranks, 1) : 1);
  const std::int64_t parts = CeilDivide(message, tables.p2p_least_part_bytes);
  const std::int64_t channels =
      std::clamp<std::int64_t>(parts, 1, std::max(fabric.rings.channels, 1));
  return message <= channels * tables.p2p_ll_threshold_bytes ? Protocol::kLl : Protocol::kSimple;
}

Bytes StepPayload(Protocol protocol, const NcclSettings& settings) {
  switch (protocol) {
    case Protocol::kLl:
      return {kLlStepPayload};
    case Protocol::kLl128:
      return {kLl128StepPayload};
    case Protocol::kSimple:
      return {settings.buffer.value_or(Bytes{kSimpleBuffer}).count / kStepsOfBuffer};
  }
  return {};
}

}  // namespace orrery::collective
