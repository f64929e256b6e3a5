#include "orrery/overlap/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

/// Features of one group, separated by spaces.
struct NamedGroup {
  std::string_view group;
  std::string_view names;
};

constexpr auto kGroups = std::to_array<NamedGroup>({
    {"the kernel alone",
     "is_product is_attention is_copy is_norm is_reduction ln_alone_us compute_share "
     "memory_share ln_bytes_over_cache operands_rotate family"},
    {"counters",
     "compute_pct memory_pct dram_pct l1_hit_pct l2_hit_pct achieved_occupancy_pct "
     "theoretical_occupancy_pct"},
    {"launch of the kernel",
     "ln_blocks threads registers shared_bytes cluster blocks_of_sm ln_waves last_wave "
     "ln_blocks_of_free_sms ln_tiles_of_block ln_resident_threads ln_bytes_of_sm "
     "ln_flops_of_sm"},
    {"width of communication", "c_blocks c_share_of_sms c_threads c_registers c_shared_bytes"},
    {"rate of communication",
     "c_traffic_of_payload c_ln_payload_gbps c_ln_block_gbps c_traffic_share c_cache c_host "
     "c_ln_chunk"},
    {"both together",
     "ln_pile ln_by_blocks ln_by_shared_blocks ln_room_by_waves ln_room_by_share "
     "ln_waves_beside last_wave_beside blocks_of_shared_sm memory_load ln_analytic_compute "
     "ln_analytic_communication"},
    {"who came first", "priority compute_is_first since_share analytic_delay_share"},
});
constexpr std::size_t kLaunchGroup = 2;
static_assert(kGroups[kLaunchGroup].group == "launch of the kernel");

constexpr std::ptrdiff_t NumFeatures(const NamedGroup& group) {
  return 1 + std::ranges::count(group.names, ' ');
}

// Bytes or operations of a multiprocessor per microsecond; less counts as this.
constexpr double kLeastOfSm = 1e-3;

double Log(double value) {
  return std::log(std::max(value, 1e-9));
}

/// Fills one row, feature after feature; the order is that of kGroups.
class Row {
 public:
  Row(const Machine& machine, const Pair& pair, const Arrival& arrival, std::vector<float>& into)
      : machine_(machine), pair_(pair), arrival_(arrival), into_(into) {}

  void Write() {
    const std::size_t begin = into_.size();
    WriteKernel();
    WriteLaunch();
    WriteCommunication();
    WriteJoint();
    WriteArrival();
    ORRERY_CHECK(into_.size() - begin == FeatureNames().size(), "a value for each feature");
  }

 private:
  void Add(double value) { into_.push_back(static_cast<float>(value)); }

  void WriteKernel() {
    const ComputeKernel& kernel = pair_.compute;
    Add(kernel.kind == "gemm" || kernel.kind == "bgemm" || kernel.kind == "conv" ||
        kernel.kind == "groupedgemm" || kernel.kind == "conv1d");
    Add(kernel.kind == "attention");
    Add(kernel.kind == "elementwise" || kernel.kind == "copy" || kernel.kind == "foreach" ||
        kernel.kind == "cat" || kernel.kind == "dropout" || kernel.kind == "optimizer");
    Add(kernel.kind == "layernorm" || kernel.kind == "rmsnorm" || kernel.kind == "softmax" ||
        kernel.kind == "reduce" || kernel.kind == "batchnorm");
    Add(kernel.kind == "reduce" || kernel.kind == "batchnorm");
    Add(Log(kernel.alone_us));
    Add(kernel.flops_peak > 0 ? kernel.flops / (kernel.flops_peak * kernel.alone_us * 1e-6) : 0);
    Add(kernel.bytes / (machine_.memory_gbps * 1e3 * kernel.alone_us));
    Add(Log(kernel.bytes / machine_.cache_bytes));
    Add(kernel.operands_rotate);
    Add(static_cast<double>(kernel.family));
    for (const auto& [column, counter] : kCounterColumns) {
      Add(kernel.counters.*counter);
    }
  }

  void WriteLaunch() {
    const LaunchShape& shape = pair_.compute.shape;
    if (!shape.IsKnown()) {
      for (std::ptrdiff_t i = 0; i < NumFeatures(kGroups[kLaunchGroup]); ++i) {
        Add(kUnknown);
      }
      return;
    }
    const int of_sm = BlocksOfSm(machine_, shape);
    const double waves =
        static_cast<double>(shape.blocks) / (static_cast<double>(machine_.sms) * of_sm);
    Add(Log(static_cast<double>(shape.blocks)));
    Add(shape.threads);
    Add(shape.registers);
    Add(shape.shared_bytes);
    Add(shape.cluster);
    Add(of_sm);
    Add(Log(waves));
    Add(waves - std::floor(waves));
    const auto free_sms =
        std::max<std::int64_t>(1, machine_.sms - pair_.communication.shape.blocks);
    Add(Log(static_cast<double>(shape.blocks) / static_cast<double>(free_sms)));
    Add(std::log(pair_.compute.tiles / static_cast<double>(shape.blocks)));
    WriteBusySm(of_sm);
  }

  // A busy multiprocessor: its resident threads, and bytes and operations per microsecond.
  void WriteBusySm(int blocks_of_sm) {
    const ComputeKernel& kernel = pair_.compute;
    const auto blocks = static_cast<double>(kernel.shape.blocks);
    const double busy_sms = std::min(blocks, static_cast<double>(machine_.sms));
    const double resident = std::min(blocks / busy_sms, static_cast<double>(blocks_of_sm));
    Add(Log(resident * kernel.shape.threads));
    Add(std::log(std::max(kLeastOfSm, kernel.bytes / busy_sms / kernel.alone_us)));
    Add(std::log(std::max(kLeastOfSm, kernel.flops / busy_sms / kernel.alone_us)));
  }

  void WriteCommunication() {
    const CommunicationKernel& kernel = pair_.communication;
    const auto blocks = static_cast<double>(kernel.shape.blocks);
    Add(blocks);
    Add(blocks / machine_.sms);
    Add(kernel.shape.threads);
    Add(kernel.shape.registers);
    Add(kernel.shape.shared_bytes);
    const double traffic = TrafficOfPayload(kernel.pattern);
    Add(traffic);
    Add(Log(kernel.payload_gbps));
    Add(Log(kernel.payload_gbps / std::max(blocks, 1.0)));
    Add(kernel.payload_gbps * traffic / machine_.memory_gbps);
    Add(kernel.place == Place::kCache);
    Add(kernel.place == Place::kHost);
    Add(kernel.chunk_bytes > 0 ? Log(kernel.chunk_bytes) : kUnknown);
  }

  void WriteJoint() {
    const AnalyticParts parts = PartsOf(machine_, pair_);
    if (pair_.compute.shape.IsKnown()) {
      const Room room = RoomWith(machine_, pair_.compute.shape, pair_.communication.shape);
      Add(Log(PileWith(machine_, pair_.compute.shape, pair_.communication.shape)));
      Add(Log(SlowdownByBlocks(PlanOf(machine_, pair_), kAllTheTime)));
      Add(Log(SlowdownByBlocks(SharedPlanOf(machine_, pair_), kAllTheTime)));
      Add(Log(room.ByWaves()));
      Add(Log(room.ByShare()));
      const double waves = room.overlapped > 0 ? static_cast<double>(pair_.compute.shape.blocks) /
                                                     static_cast<double>(room.overlapped)
                                               : kUnknown;
      Add(std::log(waves));
      Add(waves - std::floor(waves));
      Add(room.of_shared_sm);
    } else {
      for (const double value : {kUnknown, kUnknown, kUnknown, kUnknown, Log(parts.room), kUnknown,
                                 kUnknown, kUnknown}) {
        Add(value);
      }
    }
    Add(parts.load);
    Add(Log(parts.compute));
    Add(Log(parts.communication));
  }

  void WriteArrival() {
    const double left_us = std::max(0.0, pair_.compute.alone_us - arrival_.since_us);
    Add(static_cast<double>(pair_.communication.priority));
    Add(arrival_.compute_is_first);
    Add(arrival_.compute_is_first ? arrival_.since_us / pair_.compute.alone_us : kUnknown);
    Add(arrival_.compute_is_first && left_us > 0
            ? AnalyticModel().DelayUs(machine_, pair_, arrival_) / left_us
            : kUnknown);
  }

  const Machine& machine_;
  const Pair& pair_;
  const Arrival& arrival_;
  std::vector<float>& into_;
};

constexpr std::string_view kOverlapNames[] = {"all_the_time",
                                              "ln_offset_share",
                                              "ln_communication_share",
                                              "ln_offset_us",
                                              "begin_share",
                                              "end_share",
                                              "ln_end_us",
                                              "ln_left_us",
                                              "delay_share",
                                              "ln_played",
                                              "ln_played_memory",
                                              "ln_met_blocks",
                                              "ln_met_shared_blocks",
                                              "both_share",
                                              "ln_left_at_launch_us",
                                              "ln_met_blocks_if_earlier",
                                              "ln_met_blocks_if_later"};

// The jitter of launches; features include the effect of such a shift.
constexpr double kLaunchNoiseUs = 1.5;

double SignedLog(double value) {
  return std::copysign(std::log1p(std::abs(value)), value);
}

/// Communication relative to the start of the compute kernel, in microseconds.
struct Stay {
  double delay_us = 0;
  double begin_us = 0;
  double end_us = 0;
};

Stay StayOf(const Machine& machine, const Pair& pair, const KernelOverlap& overlap) {
  const double delay_us = AnalyticModel().DelayUs(machine, pair, ArrivalOf(pair, overlap));
  const double later_us = overlap.offset_us + delay_us;
  const double begin_us = overlap.compute_is_first ? later_us : -later_us;
  return {
      .delay_us = delay_us, .begin_us = begin_us, .end_us = begin_us + overlap.communication_us};
}

KernelOverlap Shifted(KernelOverlap overlap, double by_us) {
  const double offset_us =
      (overlap.compute_is_first ? overlap.offset_us : -overlap.offset_us) + by_us;
  overlap.compute_is_first = offset_us >= 0;
  overlap.offset_us = std::abs(offset_us);
  return overlap;
}

/// Appends the features of the overlap in the order of kOverlapNames.
class OverlapRow {
 public:
  OverlapRow(const Machine& machine, const Pair& pair, std::vector<float>& into)
      : machine_(machine), pair_(pair), alone_us_(pair.compute.alone_us), into_(into) {}

  // Continuous communication.
  void WriteAllTheTime() {
    const AnalyticParts parts = PartsOf(machine_, pair_);
    const double by_blocks = LnByBlocks(kAllTheTime);
    for (const double value :
         {1.0, kUnknown, kUnknown, kUnknown, kEarliest, kLatestEnd, kUnknown, kUnknown, 0.0,
          std::log(parts.compute), std::log(parts.memory), by_blocks, LnBySharedBlocks(kAllTheTime),
          1.0, kUnknown, by_blocks, by_blocks}) {
      Add(value);
    }
  }

  void Write(const KernelOverlap& overlap) {
    const Stay stay = StayOf(machine_, pair_, overlap);
    const double offset_us = overlap.compute_is_first ? overlap.offset_us : -overlap.offset_us;
    Add(0);
    Add(SignedLog(offset_us / alone_us_));
    Add(std::log(std::max(overlap.communication_us / alone_us_, kLeastShare)));
    Add(SignedLog(offset_us));
    Add(std::clamp(stay.begin_us / alone_us_, kEarliest, kLatestBegin));
    Add(std::clamp(stay.end_us / alone_us_, kEarliest, kLatestEnd));
    Add(SignedLog(stay.end_us));
    Add(SignedLog(alone_us_ - stay.begin_us));
    Add(std::clamp(stay.delay_us / alone_us_, 0.0, kLatestBegin));
    WriteSimulated(overlap, stay);
    Add(SignedLog(alone_us_ - overlap.offset_us));
    Add(LnByBlocks(PresenceOf(Shifted(overlap, -kLaunchNoiseUs))));
    Add(LnByBlocks(PresenceOf(Shifted(overlap, kLaunchNoiseUs))));
  }

 private:
  static constexpr double kEarliest = -1;
  static constexpr double kLatestBegin = 2;
  static constexpr double kLatestEnd = 3;
  static constexpr double kLeastShare = 1e-6;

  void Add(double value) { into_.push_back(static_cast<float>(value)); }

  void WriteSimulated(const KernelOverlap& overlap, const Stay& stay) {
    const AnalyticParts parts = PartsOf(machine_, pair_);
    Slowdown slowdown{.compute = parts.compute, .communication = parts.communication};
    const OverlapTimeline timeline = SimulateOverlap(alone_us_, overlap, slowdown, stay.delay_us);
    slowdown.compute = parts.memory;
    const OverlapTimeline by_memory = SimulateOverlap(alone_us_, overlap, slowdown, stay.delay_us);
    Add(std::log(timeline.compute_us / alone_us_));
    Add(std::log(by_memory.compute_us / alone_us_));
    const Presence presence = PresenceOf(stay);
    Add(LnByBlocks(presence));
    Add(LnBySharedBlocks(presence));
    Add(std::clamp(by_memory.both_us / alone_us_, 0.0, kLatestEnd));
  }

  Presence PresenceOf(const Stay& stay) const {
    return {.from = stay.begin_us / alone_us_, .until = stay.end_us / alone_us_};
  }

  Presence PresenceOf(const KernelOverlap& overlap) const {
    return PresenceOf(StayOf(machine_, pair_, overlap));
  }

  double LnByBlocks(const Presence& presence) const {
    return pair_.compute.shape.IsKnown()
               ? std::log(SlowdownByBlocks(PlanOf(machine_, pair_), presence))
               : kUnknown;
  }

  double LnBySharedBlocks(const Presence& presence) const {
    return pair_.compute.shape.IsKnown()
               ? std::log(SlowdownByBlocks(SharedPlanOf(machine_, pair_), presence))
               : kUnknown;
  }

  const Machine& machine_;
  const Pair& pair_;
  double alone_us_;
  std::vector<float>& into_;
};

}  // namespace

std::span<const std::string> FeatureNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const NamedGroup& group : kGroups) {
      for (const auto name : group.names | std::views::split(' ')) {
        names.emplace_back(name.begin(), name.end());
      }
    }
    return names;
  }();
  return kNames;
}

void AppendFeatures(const Machine& machine, const Pair& pair, const Arrival& arrival,
                    std::vector<float>& features) {
  Row(machine, pair, arrival, features).Write();
}

std::vector<learn::FeatureGroup> FeatureGroups() {
  std::vector<learn::FeatureGroup> groups;
  std::size_t next = 0;
  for (const NamedGroup& group : kGroups) {
    std::vector<std::size_t> features(static_cast<std::size_t>(NumFeatures(group)));
    std::iota(features.begin(), features.end(), next);
    next += features.size();
    groups.push_back({std::string(group.group), std::move(features)});
  }
  return groups;
}

Pair AsPlanned(Pair pair) {
  pair.compute.shape = {};
  pair.compute.counters = {};
  pair.compute.tiles = kUnknown;
  pair.compute.operands_rotate = true;
  pair.communication.chunk_bytes = 0;
  return pair;
}

std::span<const std::string> KernelOverlapFeatureNames() {
  static const std::vector<std::string> kAll = [] {
    const std::span<const std::string> of_pair = FeatureNames();
    std::vector<std::string> names(of_pair.begin(), of_pair.end());
    names.insert(names.end(), std::begin(kOverlapNames), std::end(kOverlapNames));
    return names;
  }();
  return kAll;
}

Arrival ArrivalOf(const Pair& pair, const KernelOverlap& overlap) {
  return {.compute_is_first = overlap.compute_is_first,
          .since_us = overlap.offset_us,
          .first_us = overlap.compute_is_first ? pair.compute.alone_us : overlap.communication_us};
}

void AppendKernelOverlapFeatures(const Machine& machine, const Pair& pair,
                                 const std::optional<KernelOverlap>& overlap,
                                 std::vector<float>& features) {
  const std::size_t begin = features.size();
  const Arrival arrival = overlap ? ArrivalOf(pair, *overlap) : Arrival{.compute_is_first = false};
  AppendFeatures(machine, pair, arrival, features);
  OverlapRow row(machine, pair, features);
  if (overlap) {
    row.Write(*overlap);
  } else {
    row.WriteAllTheTime();
  }
  ORRERY_CHECK(features.size() - begin == KernelOverlapFeatureNames().size(),
               "a value for each feature");
}

std::vector<learn::FeatureGroup> KernelOverlapFeatureGroups() {
  std::vector<learn::FeatureGroup> groups = FeatureGroups();
  learn::FeatureGroup& overlap = groups.emplace_back(learn::FeatureGroup{"how they meet", {}});
  for (std::size_t i = FeatureNames().size(); i < KernelOverlapFeatureNames().size(); ++i) {
    overlap.features.push_back(i);
  }
  return groups;
}

}  // namespace orrery::overlap
