#include "orrery/collective/channel_search.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "orrery/collective/channel_tables.h"

namespace orrery::collective {
namespace {

constexpr int kMostSearched = 32;
constexpr int kMostChannels = 64;

// A lower speed is tried when it is more than this share of the best so far.
constexpr double kLeastStep = 0.49;

const ChannelTables::Speeds& SpeedsOf(GpuGeneration generation) {
  return EmbeddedChannelTables().speeds[static_cast<std::size_t>(generation)];
}

int Fitting(double bandwidth, double speed) {
  return static_cast<int>(std::floor(bandwidth / speed));
}

// A ring enters and leaves every node by one NIC, so NICs and the links of a GPU both limit rings.
int ChannelsAt(const SearchSpace& space, double speed) {
  int channels = std::min(Fitting(space.gpu_link, speed), kMostSearched);
  if (space.ranks_per_node == 1) {
    channels = kMostSearched;  // no link inside the node is used
  }
  return space.nodes == 1 ? channels : std::min(channels, space.nics * Fitting(space.nic, speed));
}

double BottleneckOf(const SearchSpace& space) {
  return space.nodes == 1 ? space.gpu_link : space.nic;
}

ChannelGraph LargestTotal(const SearchSpace& space, std::span<const double> speeds) {
  ChannelGraph best;
  for (const double speed : speeds) {
    if (best.channels > 0 && speed / best.intra_speed <= kLeastStep) {
      break;
    }
    const int channels = ChannelsAt(space, speed);
    if (channels * speed > best.intra_total()) {
      best = {.channels = channels, .intra_speed = speed, .inter_speed = speed};
    }
  }
  if (best.channels == 0) {
    const double slow = BottleneckOf(space);
    return {.channels = 1, .intra_speed = slow, .inter_speed = slow};
  }
  return best;
}

// Fast channels are split, so that more thread blocks share the work. NCCL's rule except for
// Blackwell, where measured protocol changes of a B200 node match 8 channels.
bool Splits(const ChannelGraph& graph, GpuGeneration generation) {
  if (graph.intra_speed < 25 || generation == GpuGeneration::kBlackwell) {
    return false;
  }
  return generation != GpuGeneration::kHopper || graph.intra_speed >= 50 || graph.channels <= 4;
}

ChannelGraph Split(ChannelGraph graph) {
  return {.channels = graph.channels * 2,
          .intra_speed = graph.intra_speed / 2,
          .inter_speed = graph.inter_speed / 2};
}

const ChannelGraph* FindKnown(const SearchSpace& space) {
  for (const auto& known : EmbeddedChannelTables().known_graphs) {
    if (known.space.generation == space.generation && known.space.nodes == space.nodes &&
        known.space.ranks_per_node == space.ranks_per_node && known.space.nics == space.nics &&
        known.space.nic == space.nic && known.graph.intra_total() <= space.gpu_link) {
      return &known.graph;
    }
  }
  return nullptr;
}

double FastestWithin(std::span<const double> speeds, double bandwidth) {
  const auto found = std::ranges::find_if(speeds, [&](double speed) { return speed <= bandwidth; });
  return found == speeds.end() ? bandwidth : *found;
}

}  // namespace

ChannelGraph SearchRings(const SearchSpace& space) {
  if (const ChannelGraph* const known = FindKnown(space)) {
    return *known;
  }
  const auto& speeds = SpeedsOf(space.generation);
  const ChannelGraph graph = LargestTotal(space, space.nodes == 1 ? speeds.intra : speeds.inter);
  return Splits(graph, space.generation) ? Split(graph) : graph;
}

// Each channel reduces the values of all GPUs at its head. A GPU sends its values for every head,
// and what it reduced as one, so each of n channels gets 1 / (n + 1) of the link.
ChannelGraph SearchNvls(const SearchSpace& space) {
  const auto& speeds = SpeedsOf(space.generation);
  const bool one_node = space.nodes == 1;
  const int channels = one_node ? space.ranks_per_node : std::min(space.ranks_per_node, space.nics);
  const double intra = FastestWithin(speeds.intra, space.gpu_link / (channels + 1));
  return {.channels = channels,
          .intra_speed = intra,
          .inter_speed = one_node ? intra : FastestWithin(speeds.inter, space.nic)};
}

int DoubledChannels(const ChannelGraph& graph, GpuGeneration generation, int nodes) {
  int channels = graph.channels * 2;
  if (generation == GpuGeneration::kHopper && nodes > 1 && graph.intra_speed > 45 &&
      channels < 16) {
    channels *= 2;
  }
  return std::min(channels, kMostChannels);
}

}  // namespace orrery::collective
