#include "orrery/overlap/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "orrery/base/check.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/block_timeline.h"
#include "orrery/overlap/occupancy.h"

namespace orrery::overlap {
namespace {

/// A feature's name and the group it belongs to.
struct Feature {
  std::string_view name;
  std::string_view group;
};

constexpr std::string_view kKernel = "the kernel alone";
constexpr std::string_view kCounters = "counters";
constexpr std::string_view kLaunch = "launch of the kernel";
constexpr std::string_view kWidth = "width of communication";
constexpr std::string_view kRate = "rate of communication";
constexpr std::string_view kJoint = "both together";
constexpr std::string_view kArrival = "who came first";

constexpr auto kFeatures = std::to_array<Feature>({
    {"is_product", kKernel},
    {"is_attention", kKernel},
    {"is_copy", kKernel},
    {"is_norm", kKernel},
    {"is_reduction", kKernel},
    {"ln_alone_us", kKernel},
    {"compute_share", kKernel},
    {"memory_share", kKernel},
    {"ln_bytes_over_cache", kKernel},
    {"operands_rotate", kKernel},
    {"family", kKernel},
    {"compute_pct", kCounters},
    {"memory_pct", kCounters},
    {"dram_pct", kCounters},
    {"l1_hit_pct", kCounters},
    {"l2_hit_pct", kCounters},
    {"achieved_occupancy_pct", kCounters},
    {"theoretical_occupancy_pct", kCounters},
    {"ln_blocks", kLaunch},
    {"threads", kLaunch},
    {"registers", kLaunch},
    {"shared_bytes", kLaunch},
    {"cluster", kLaunch},
    {"blocks_of_sm", kLaunch},
    {"ln_waves", kLaunch},
    {"last_wave", kLaunch},
    {"ln_blocks_of_free_sms", kLaunch},
    {"ln_tiles_of_block", kLaunch},
    {"ln_resident_threads", kLaunch},
    {"ln_bytes_of_sm", kLaunch},
    {"ln_flops_of_sm", kLaunch},
    {"c_blocks", kWidth},
    {"c_share_of_sms", kWidth},
    {"c_threads", kWidth},
    {"c_registers", kWidth},
    {"c_shared_bytes", kWidth},
    {"c_traffic_of_payload", kRate},
    {"c_ln_payload_gbps", kRate},
    {"c_ln_block_gbps", kRate},
    {"c_traffic_share", kRate},
    {"c_cache", kRate},
    {"c_host", kRate},
    {"c_ln_chunk", kRate},
    {"ln_pile", kJoint},
    {"ln_by_blocks", kJoint},
    {"ln_by_shared_blocks", kJoint},
    {"ln_room_by_waves", kJoint},
    {"ln_room_by_share", kJoint},
    {"ln_waves_beside", kJoint},
    {"last_wave_beside", kJoint},
    {"blocks_of_shared_sm", kJoint},
    {"memory_load", kJoint},
    {"ln_analytic_compute", kJoint},
    {"ln_analytic_communication", kJoint},
    {"priority", kArrival},
    {"compute_is_first", kArrival},
    {"since_share", kArrival},
    {"analytic_delay_share", kArrival},
});

constexpr auto kLaunchFeatures =
    std::ranges::count(kFeatures, kLaunch, [](const Feature& feature) { return feature.group; });

// Bytes or operations of a multiprocessor per microsecond; less counts as this.
constexpr double kLeastOfSm = 1e-3;

double Log(double value) {
  return std::log(std::max(value, 1e-9));
}

/// Fills one row, feature after feature; the order is that of kFeatures.
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
    ORRERY_CHECK(into_.size() - begin == kFeatures.size(), "a value for each feature");
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
    const Counters& counters = kernel.counters;
    for (const double counter :
         {counters.compute, counters.memory, counters.dram, counters.l1_hit, counters.l2_hit,
          counters.achieved_occupancy, counters.theoretical_occupancy}) {
      Add(counter);
    }
  }

  void WriteLaunch() {
    const LaunchShape& shape = pair_.compute.shape;
    if (!shape.IsKnown()) {
      for (std::ptrdiff_t i = 0; i < kLaunchFeatures; ++i) {
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
      const Room room = RoomBeside(machine_, pair_.compute.shape, pair_.communication.shape);
      Add(Log(PileBeside(machine_, pair_.compute.shape, pair_.communication.shape)));
      Add(Log(SlowdownByBlocks(PlanOf(machine_, pair_), kAllTheTime)));
      Add(Log(SlowdownByBlocks(SharedPlanOf(machine_, pair_), kAllTheTime)));
      Add(Log(room.ByWaves()));
      Add(Log(room.ByShare()));
      const double waves = room.beside > 0 ? static_cast<double>(pair_.compute.shape.blocks) /
                                                 static_cast<double>(room.beside)
                                           : kUnknown;
      Add(std::log(waves));
      Add(waves - std::floor(waves));
      Add(room.of_shared_sm);
    } else {
      Add(kUnknown);
      Add(kUnknown);
      Add(kUnknown);
      Add(kUnknown);
      Add(Log(parts.room));
      Add(kUnknown);
      Add(kUnknown);
      Add(kUnknown);
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

}  // namespace

std::span<const std::string> FeatureNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Feature& feature : kFeatures) {
      names.emplace_back(feature.name);
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
  for (std::size_t i = 0; i < kFeatures.size(); ++i) {
    if (groups.empty() || groups.back().name != kFeatures[i].group) {
      groups.push_back({std::string(kFeatures[i].group), {}});
    }
    groups.back().features.push_back(i);
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

}  // namespace orrery::overlap
