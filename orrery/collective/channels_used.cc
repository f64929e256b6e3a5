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
constexpr std::int64_t kAlignment = 16;

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

// Bytes that a thread must have before another channel is worth it.
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

std::int64_t StepsOfChunk(CollectiveKind kind, Protocol protocol) {
  const bool has_slices = kind == CollectiveKind::kAllReduce ||
                          kind == CollectiveKind::kAllGather ||
                          kind == CollectiveKind::kReduceScatter;
  return protocol == Protocol::kSimple && has_slices ? 4 : 1;
}

std::int64_t RingChunk(CollectiveKind kind, Protocol protocol, const NcclSettings& settings) {
  return StepPayload(protocol, settings).count * StepsOfChunk(kind, protocol);
}

// Below `times` rounds of all chunks at once, a chunk is no more than `most`.
struct Shrink {
  std::int64_t times = 0;
  std::int64_t most = 0;
};

constexpr std::int64_t kKibibyte = 1 << 10;

constexpr std::array<Shrink, 3> kNvlsShrinks = {
    {{64, 64 * kKibibyte}, {8, 32 * kKibibyte}, {2, 16 * kKibibyte}}};

constexpr std::array<Shrink, 4> kNvlsTreeShrinks = {
    {{32, 256 * kKibibyte}, {16, 128 * kKibibyte}, {4, 64 * kKibibyte}, {1, 32 * kKibibyte}}};

std::int64_t Shrunk(std::int64_t chunk, std::int64_t bytes, std::int64_t at_once,
                    std::span<const Shrink> shrinks) {
  for (const Shrink& shrink : shrinks) {
    if (bytes < shrink.times * at_once * chunk) {
      chunk = std::min(chunk, shrink.most);
    }
  }
  return chunk;
}

std::int64_t PatChunk(const Request& request, std::int64_t chunk, int channels) {
  const std::int64_t pieces = request.kind == CollectiveKind::kAllGather ? 32 : 16;
  while (chunk * channels * pieces > request.size.count && chunk > 64 * kKibibyte) {
    chunk /= 2;
  }
  return chunk;
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

ChunkLoops RingLoops(const Request& request, Protocol protocol, int ranks, int channels,
                     const NcclSettings& settings) {
  const std::int64_t chunk = RingChunk(request.kind, protocol, settings);
  const std::int64_t share = CeilDivide(request.size.count, channels);
  const std::int64_t loop = chunk * ranks;
  const std::int64_t rounds = CeilDivide(share, loop);
  if (rounds == 0) {
    return {.chunk = {chunk}};
  }
  const std::int64_t rest = share - (rounds - 1) * loop;
  const std::int64_t last = CeilDivide(CeilDivide(rest, ranks), kAlignment) * kAlignment;
  return {.chunk = {chunk}, .rounds = rounds, .last_chunk = {std::min(last, chunk)}};
}

Bytes ChunkOf(const Fabric& fabric, const Request& request, Algorithm algorithm, Protocol protocol,
              int channels, const NcclSettings& settings) {
  const std::int64_t step = StepPayload(protocol, settings).count;
  const std::int64_t at_once = std::int64_t{channels} * std::max(fabric.nvls.channels, 1);
  switch (algorithm) {
    case Algorithm::kNvls:
      return {Shrunk(128 * kKibibyte, request.size.count, at_once, kNvlsShrinks)};
    case Algorithm::kNvlsTree:
      return {Shrunk(step, request.size.count, at_once, kNvlsTreeShrinks)};
    case Algorithm::kPat:
      return {PatChunk(request, step, channels)};
    default:
      return {RingChunk(request.kind, protocol, settings)};
  }
}

}  // namespace orrery::collective
