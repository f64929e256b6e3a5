#include "orrery/calibrate/collectives/constants_fit.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/hardware/cluster.h"

namespace orrery::calibrate {
namespace {

using collective::AlgorithmAndProtocol;
using collective::Constant;
using collective::ConstantInfo;
using collective::DefaultConstants;
using collective::FabricOf;
using collective::InfoOf;
using collective::MachineConstants;
using collective::MachineModel;
using collective::MachineModels;
using collective::Measurement;
using collective::NewestTunerTables;
using collective::PredictChoice;
using collective::Prediction;
using collective::PriorOf;
using enum Constant;

/// All-reduces of a machine that keeps to the closed form with these constants.
class Rows {
 public:
  Rows(std::string_view cluster, const MachineConstants& constants)
      : cluster_(*hardware::FindCluster(cluster)), constants_(constants) {}

  void Add(int gpus, std::int64_t least, std::int64_t most) {
    for (std::int64_t bytes = least; bytes <= most; bytes *= 2) {
      Measurement row;
      row.cluster = &cluster_;
      row.gpus = gpus;
      row.request = {CollectiveKind::kAllReduce, Bytes{bytes}, DataType::kFp32};
      row.fabric = FabricOf(cluster_, {.gpus = gpus}).value();
      const Prediction choice =
          PredictChoice(row.fabric, row.request, {}, NewestTunerTables(), constants_).value();
      row.seconds = choice.seconds;
      rows_.push_back(row);
      choices_.push_back({choice.algorithm, choice.protocol});
    }
  }

  [[nodiscard]] ConstantsFit Fit() const {
    std::vector<TunedRow> tuned;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      tuned.push_back({&rows_[i], choices_[i]});
    }
    return FitConstants(tuned, NewestTunerTables(), PriorOf(cluster_));
  }

 private:
  const hardware::Cluster& cluster_;
  MachineConstants constants_;
  std::vector<Measurement> rows_;
  std::vector<AlgorithmAndProtocol> choices_;
};

bool IsFitted(const ConstantsFit& fit, Constant constant) {
  return std::ranges::find(fit.fitted, constant) != fit.fitted.end();
}

MachineConstants WithSlowHops() {
  MachineConstants constants = DefaultConstants();
  constants.Set(kLlNetworkHop, 15);
  constants.Set(kSimpleNetworkHop, 40);
  return constants;
}

// 512 MiB and more on two nodes, as a public README has them: a hop of 40 µs is 0.3 % of 10 ms, so
// it cannot be told from a slightly narrower network.
TEST(ConstantsFit, LargeRowsOfTwoNodesDoNotIdentifyAHop) {
  Rows rows("azure nd a100 v4", WithSlowHops());
  rows.Add(8, 1 << 10, 1 << 30);
  rows.Add(16, 1 << 29, std::int64_t{1} << 33);
  const ConstantsFit fit = rows.Fit();
  EXPECT_FALSE(IsFitted(fit, kSimpleNetworkHop));
  EXPECT_FALSE(IsFitted(fit, kLlNetworkHop));
  EXPECT_EQ(fit.constants[kLlNetworkHop], DefaultConstants()[kLlNetworkHop]);
  EXPECT_EQ(fit.constants[kSimpleNetworkHop], DefaultConstants()[kSimpleNetworkHop]);
  EXPECT_TRUE(IsFitted(fit, kNetworkShare));
}

TEST(ConstantsFit, SmallRowsOfTwoNodesDoNotEither) {
  Rows rows("azure nd a100 v4", WithSlowHops());
  rows.Add(16, 1 << 10, 1 << 30);
  EXPECT_FALSE(IsFitted(rows.Fit(), kLlNetworkHop));
}

TEST(ConstantsFit, SmallRowsOfManyNodesIdentifyAHop) {
  Rows rows("azure nd a100 v4", WithSlowHops());
  for (const int gpus : {8, 16, 32, 64, 128}) {
    rows.Add(gpus, 1 << 10, 1 << 30);
  }
  const ConstantsFit fit = rows.Fit();
  ASSERT_TRUE(IsFitted(fit, kLlNetworkHop));
  EXPECT_NEAR(fit.constants[kLlNetworkHop], 15, 1.5);
}

// Rows of LL that start at 60 µs, and of Simple at 20: no library does that.
TEST(ConstantsFit, LlNeverStartsSlowerThanSimple) {
  MachineConstants odd = DefaultConstants();
  odd.Set(kStart, 60);
  odd.Set(kSimpleStart, 20);
  odd.Set(kLlHop, 5);
  odd.Set(kSimpleHop, 0.5);
  Rows rows("dgx a100", odd);
  for (const int gpus : {2, 4, 8}) {
    rows.Add(gpus, 1 << 10, 1 << 30);
  }
  const ConstantsFit fit = rows.Fit();
  EXPECT_LE(fit.constants[kStart], fit.constants[kSimpleStart]);
  EXPECT_LE(fit.constants[kLlHop], fit.constants[kSimpleHop]);
}

TEST(ConstantsFit, AConstantThatRowsDriveToABoundKeepsItsPrior) {
  Rows rows("dgx a100", DefaultConstants());
  rows.Add(8, 1 << 20, 1 << 30);
  ConstantsFit fit = rows.Fit();
  EXPECT_TRUE(fit.at_bounds.empty());
  MachineConstants slow = DefaultConstants();
  slow.Set(kLinkShare, 0.01);  // below what a fit may find
  Rows slower("dgx a100", slow);
  slower.Add(8, 1 << 24, 1 << 30);
  fit = slower.Fit();
  EXPECT_NE(std::ranges::find(fit.at_bounds, kLinkShare), fit.at_bounds.end());
  EXPECT_EQ(fit.constants[kLinkShare], DefaultConstants()[kLinkShare]);
  EXPECT_FALSE(IsFitted(fit, kLinkShare));
}

// EFA takes 15 µs where InfiniBand takes one; Simple waits for it twice.
TEST(ConstantsFit, ThePriorOfAHopDependsOnTheNetwork) {
  const MachineConstants efa = PriorOf(*hardware::FindCluster("aws p5"));
  EXPECT_DOUBLE_EQ(efa[kLlNetworkHop], DefaultConstants()[kLlNetworkHop] + 14);
  EXPECT_DOUBLE_EQ(efa[kSimpleNetworkHop], DefaultConstants()[kSimpleNetworkHop] + 28);
  EXPECT_EQ(PriorOf(*hardware::FindCluster("dgx h100")), DefaultConstants());
}

TEST(ConstantsFit, NoShippedConstantIsAtABoundAndLlStartsFirst) {
  for (const MachineModel& model : MachineModels::Shipped().all()) {
    for (const Constant constant : model.fitted) {
      const ConstantInfo& info = InfoOf(constant);
      EXPECT_GT(model.constants[constant], info.least * 1.001) << model.machine << info.name;
      EXPECT_LT(model.constants[constant], info.most * 0.999) << model.machine << info.name;
    }
    EXPECT_LE(model.constants[kStart], model.constants[kSimpleStart]) << model.machine;
    EXPECT_LE(model.constants[kLlHop], model.constants[kSimpleHop]) << model.machine;
    EXPECT_LE(model.constants[kLlNetworkHop], model.constants[kSimpleNetworkHop]);
  }
}

}  // namespace
}  // namespace orrery::calibrate
