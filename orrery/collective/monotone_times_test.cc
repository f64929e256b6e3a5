#include "orrery/collective/monotone_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

constexpr double kMostFall = 1.02;
constexpr int kMostGpus = 16'384;

const std::vector<CollectiveKind> kKinds = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
    CollectiveKind::kAllToAll,  CollectiveKind::kBroadcast, CollectiveKind::kReduce,
    CollectiveKind::kSendRecv,  CollectiveKind::kBarrier};

/// From 1 KiB to 8 GiB, `of_octave` for each power of two.
std::vector<Bytes> Sizes(int of_octave) {
  std::vector<Bytes> sizes;
  for (int i = 0; i <= 23 * of_octave; ++i) {
    sizes.push_back({std::llround(std::exp2(10 + static_cast<double>(i) / of_octave))});
  }
  return sizes;
}

/// Powers of two, numbers between them, and what follows and precedes a power.
std::vector<int> NodeCounts() {
  std::vector<int> counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33};
  for (int nodes = 32; nodes <= kMostGpus; nodes *= 2) {
    counts.insert(counts.end(), {nodes, nodes * 3 / 2});
  }
  std::ranges::sort(counts);
  return counts;
}

/// Ranks that a node may have: powers of two up to a node, and all of an island.
std::vector<int> RanksPerNode(const hardware::Cluster& cluster) {
  std::vector<int> counts;
  for (int ranks = 1; ranks <= cluster.island.gpus; ranks *= 2) {
    counts.push_back(ranks);
  }
  if (counts.back() != cluster.island.gpus) {
    counts.push_back(cluster.island.gpus);
  }
  return counts;
}

struct Machine {
  std::string name;
  const hardware::Cluster* cluster = nullptr;
  const MachineModel* model = nullptr;  // none: what answers for the cluster

  [[nodiscard]] FormsOfMachine Forms(int nodes, int ranks_per_node) const {
    if (model == nullptr) {
      return MachineModels::Shipped()
          .Find({.cluster = cluster, .gpus = nodes * ranks_per_node, .nodes = nodes})
          .forms;
    }
    const FormRules rules{model->constants, ParseNcclSettings(model->assumed_settings).value(),
                          FindTunerTables(model->nccl_version).value()};
    return {rules, rules};
  }
};

/// All clusters of the catalogue and all machines of the model file.
std::vector<Machine> ShippedMachines() {
  std::vector<Machine> machines;
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    machines.push_back({cluster.name, &cluster, nullptr});
  }
  for (const MachineModel& model : MachineModels::Shipped().all()) {
    machines.push_back(
        {model.machine + " by " + model.source, hardware::FindCluster(model.machine), &model});
  }
  return machines;
}

/// Falls of a time by more than is allowed, where nothing should fall.
struct Falls {
  std::size_t points = 0;
  std::size_t count = 0;
  double worst = 1;
  std::string where = "nowhere";

  void Compare(double before, double after, const std::string& place) {
    ++points;
    if (before > after * kMostFall) {
      ++count;
      if (before / after > worst) {
        worst = before / after;
        where = place;
      }
    }
  }
};

void CompareAll(const Machine& machine, int ranks_per_node, CollectiveKind kind, Falls& falls) {
  const std::vector<Bytes> sizes = Sizes(4);
  MonotoneTimes on_node(machine.Forms(1, ranks_per_node));
  MonotoneTimes on_nodes(machine.Forms(2, ranks_per_node));
  std::vector<double> most(sizes.size(), 0);  // of fewer nodes
  for (const int nodes : NodeCounts()) {
    const int gpus = nodes * ranks_per_node;
    const Result<Fabric> fabric =
        FabricOf(*machine.cluster, {.gpus = gpus, .gpus_per_node = ranks_per_node});
    if (gpus < 2 || gpus > kMostGpus || !fabric) {
      continue;
    }
    double smaller = 0;  // the longest time of fewer bytes
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Request request{kind, sizes[i], DataType::kBf16};
      const double seconds = (nodes > 1 ? on_nodes : on_node).Seconds(*fabric, request).value();
      const std::string place =
          fmt::format("{}: {} of {} bytes on {} GPUs, {} a node", machine.name,
                      CollectiveKindName(kind), sizes[i].count, gpus, ranks_per_node);
      falls.Compare(smaller, seconds, place + ", fewer bytes");
      falls.Compare(most[i], seconds, place + ", fewer nodes");
      smaller = std::max(smaller, seconds);
      most[i] = std::max(most[i], seconds);
    }
  }
}

TEST(MonotoneTimes, NeverFallWithMoreBytesOrMoreNodesOnAnyShippedMachine) {
  Falls falls;
  for (const Machine& machine : ShippedMachines()) {
    for (const int ranks_per_node : RanksPerNode(*machine.cluster)) {
      for (const CollectiveKind kind : kKinds) {
        CompareAll(machine, ranks_per_node, kind, falls);
      }
    }
  }
  EXPECT_GT(falls.points, 1'000'000);
  EXPECT_EQ(falls.count, 0) << falls.worst << " times at " << falls.where;
}

// An NVL72 has 18 hosts of four GPUs in one island: reduction in the switch moves (n + 1) / n of
// the buffer, less with more of them, but 64 GPUs are measured to be slower than eight.
TEST(MonotoneTimes, NeverFallWithMoreHostsOfAnIsland) {
  Falls falls;
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    std::vector<double> most(Sizes(2).size(), 0);
    const int host = cluster.gpus_per_node;
    const int island = cluster.island.gpus;
    for (int gpus = 2 * host; host < island && gpus <= island; gpus += host) {
      MonotoneTimes times(MachineModels::Shipped().Find({.cluster = &cluster, .gpus = gpus}).forms);
      const Fabric fabric = FabricOf(cluster, {.gpus = gpus, .gpus_per_node = gpus}).value();
      for (std::size_t i = 0; i < most.size(); ++i) {
        const Request request{CollectiveKind::kAllReduce, Sizes(2)[i]};
        const double seconds = times.Seconds(fabric, request).value();
        falls.Compare(most[i], seconds, fmt::format("{} {}", cluster.name, gpus));
        most[i] = std::max(most[i], seconds);
      }
    }
  }
  EXPECT_GT(falls.points, 0);
  EXPECT_EQ(falls.count, 0) << falls.worst << " times at " << falls.where;
}

/// The same whatever a fit finds: constants anywhere between their bounds.
RC_GTEST_PROP(MonotoneTimes, NeverFallWhateverTheConstants, ()) {
  const auto any_rules = [] {
    FormRules rules;
    for (std::size_t i = 0; i < kNumConstants; ++i) {
      const ConstantInfo& info = InfoOf(static_cast<Constant>(i));
      const double part = *rc::gen::inRange(0, 1001) / 1000.0;
      rules.constants.Set(static_cast<Constant>(i), info.least + part * (info.most - info.least));
    }
    rules.tables = &AllTunerTables()[*rc::gen::inRange<std::size_t>(0, AllTunerTables().size())];
    return rules;
  };
  const FormRules of_node = any_rules();
  const FormRules over_nodes = any_rules();
  const auto place = *rc::gen::inRange<std::size_t>(0, hardware::ClusterCatalogue().size());
  const hardware::Cluster& cluster = hardware::ClusterCatalogue()[place];
  const int ranks_per_node = *rc::gen::elementOf(RanksPerNode(cluster));
  const CollectiveKind kind = *rc::gen::elementOf(kKinds);
  MonotoneTimes times({of_node, over_nodes});
  std::vector<double> most(Sizes(3).size(), 0);
  for (const int nodes : {1, 2, 3, 6, 8, 13, 64}) {
    const Result<Fabric> fabric =
        FabricOf(cluster, {.gpus = nodes * ranks_per_node, .gpus_per_node = ranks_per_node});
    if (!fabric || fabric->ranks < 2) {
      continue;
    }
    double smaller = 0;
    for (std::size_t i = 0; i < most.size(); ++i) {
      const double seconds = times.Seconds(*fabric, {kind, Sizes(3)[i]}).value();
      RC_ASSERT(seconds * kMostFall >= smaller);
      RC_ASSERT(seconds * kMostFall >= most[i]);
      smaller = std::max(smaller, seconds);
      most[i] = std::max(most[i], seconds);
    }
  }
}

const std::vector<const char*> kForced = {"NCCL_ALGO=Ring NCCL_PROTO=LL",
                                          "NCCL_ALGO=Ring NCCL_PROTO=LL128",
                                          "NCCL_ALGO=Ring NCCL_PROTO=Simple",
                                          "NCCL_ALGO=Tree NCCL_PROTO=LL",
                                          "NCCL_ALGO=Tree NCCL_PROTO=LL128",
                                          "NCCL_ALGO=Tree NCCL_PROTO=Simple",
                                          "NCCL_ALGO=NVLS",
                                          "NCCL_ALGO=NVLSTree",
                                          "NCCL_PROTO=^LL128",
                                          "NCCL_NVLS_ENABLE=0"};

TEST(MonotoneTimes, AForcedChoiceIsNeverMuchFaster) {
  std::size_t compared = 0;
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    for (const int nodes : {1, 4, 100}) {
      const int ranks_per_node = cluster.island.gpus;
      const Result<Fabric> fabric =
          FabricOf(cluster, {.gpus = nodes * ranks_per_node, .gpus_per_node = ranks_per_node});
      if (!fabric || fabric->ranks < 2 || fabric->ranks > kMostGpus) {
        continue;
      }
      const FormsOfMachine forms =
          MachineModels::Shipped()
              .Find({.cluster = &cluster, .gpus = fabric->ranks, .nodes = nodes})
              .forms;
      for (const std::int64_t bytes : {1 << 10, 1 << 16, 3 << 20, 25 << 20, 1 << 28}) {
        const Request request{CollectiveKind::kAllReduce, {bytes}, DataType::kBf16};
        const double usual = Predict(*fabric, request, forms)->seconds;
        for (const char* const settings : kForced) {
          const auto forced = Predict(*fabric, request, forms, ParseNcclSettings(settings).value());
          if (forced) {
            ++compared;
            EXPECT_GE(forced->seconds * 1.1, usual)
                << cluster.name << " " << fabric->ranks << " " << bytes << " " << settings;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1'000);
}

Fabric FabricOfGpus(const char* cluster, int gpus) {
  return FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus}).value();
}

// The time is that of NCCL's choice if the choice does not change and the grid has the size.
TEST(MonotoneTimes, AreThoseOfTheChoiceWhereNothingFalls) {
  const Fabric fabric = FabricOfGpus("dgx h100", 64);
  const FormRules rules;
  MonotoneTimes times({rules, rules});
  for (const std::int64_t bytes : {std::int64_t{1} << 28, std::int64_t{1} << 33}) {
    const Request request{CollectiveKind::kAllGather, {bytes}};
    const double choice =
        PredictChoice(fabric, request, rules.nccl, *rules.tables, rules.constants)->seconds;
    EXPECT_NEAR(times.Seconds(fabric, request).value() / choice, 1, 1e-9);
  }
  // Between sizes of the grid, linear in logarithms is close.
  const Request between{CollectiveKind::kAllGather, {300'000'000}};
  const double choice =
      PredictChoice(fabric, between, rules.nccl, *rules.tables, rules.constants)->seconds;
  EXPECT_NEAR(times.Seconds(fabric, between).value() / choice, 1, 0.005);
}

// Beyond the grid: nothing is smaller than 64 bytes, and what is larger than 64 GiB takes longer
// by as much.
TEST(MonotoneTimes, GoOnBeyondTheGrid) {
  const Fabric fabric = FabricOfGpus("dgx a100", 16);
  MonotoneTimes times({FormRules{}, FormRules{}});
  const auto seconds = [&](std::int64_t bytes) {
    return times.Seconds(fabric, {CollectiveKind::kAllReduce, {bytes}}).value();
  };
  EXPECT_EQ(seconds(1), seconds(64));
  EXPECT_NEAR(seconds(std::int64_t{3} << 36) / seconds(std::int64_t{1} << 36), 3, 1e-9);
}

TEST(MonotoneTimes, TighterLimitsNeverShortenATime) {
  const Fabric fabric = FabricOfGpus("dgx h100", 128);
  MonotoneTimes times({FormRules{}, FormRules{}});
  for (const std::int64_t bytes : {1 << 12, 1 << 22, 1 << 30}) {
    const Request request{CollectiveKind::kAllReduce, {bytes}};
    const double whole = times.Seconds(fabric, request).value();
    EXPECT_GE(times.Seconds(fabric, request, {.link_share = 0.5}).value(), whole);
    EXPECT_GE(times.Seconds(fabric, request, {.network_share = 0.25}).value(), whole);
  }
}

TEST(MonotoneTimes, SettingsThatLeaveNothingAreRefused) {
  const Fabric fabric = FabricOfGpus("dgx h100", 8);
  FormRules rules;
  rules.nccl = ParseNcclSettings("NCCL_ALGO=NVLSTree").value();
  MonotoneTimes times({rules, rules});
  EXPECT_FALSE(times.Seconds(fabric, {CollectiveKind::kAllReduce, {1 << 20}}).has_value());
  // On two nodes there is one, though fewer nodes have none.
  EXPECT_TRUE(times.Seconds(FabricOfGpus("dgx h100", 16), {CollectiveKind::kAllReduce, {1 << 20}})
                  .has_value());
}

}  // namespace
}  // namespace orrery::collective
