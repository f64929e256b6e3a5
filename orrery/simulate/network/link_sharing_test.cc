#include "orrery/simulate/network/link_sharing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/network/congestion.h"
#include "orrery/network/fair_filling.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using network::FlowRow;
using workload::Ensemble;
using workload::TaskId;

// Links of 100 bytes a second; says by group which it uses.
class GivenUsage : public LinkUsage {
 public:
  GivenUsage(std::size_t num_links, std::map<GroupClassId, TransferUses> uses)
      : num_links_(num_links), uses_(std::move(uses)) {}

  [[nodiscard]] std::vector<double> Capacities() const override {
    return std::vector<double>(num_links_, 1.0);
  }

  [[nodiscard]] std::vector<std::uint8_t> LosesGoodput() const override {
    return std::vector<std::uint8_t>(num_links_, 1);
  }

  [[nodiscard]] std::string NameOf(network::LinkId link) const override {
    return std::to_string(link);
  }

  [[nodiscard]] Result<TransferUses> UsesOf(GroupClassId group,
                                            const workload::Communications::Row& /*row*/) override {
    const auto found = uses_.find(group);
    return found == uses_.end() ? TransferUses{} : found->second;
  }

  [[nodiscard]] Result<TransferUses> UsesToStorage(RankClassId /*rank_class*/,
                                                   Bandwidth /*rate*/) override {
    return TransferUses{};
  }

 private:
  std::size_t num_links_;
  std::map<GroupClassId, TransferUses> uses_;
};

TransferUses Takes(std::vector<network::LinkUse> links) {
  TransferUses uses{.links = std::move(links)};
  for (const network::LinkUse& use : uses.links) {
    uses.bytes_per_second = std::max(uses.bytes_per_second, 100 * use.share);
  }
  return uses;
}

FlowRow BeginOrDie(LinkSharing& sharing, GroupClassId group) {
  const Result<FlowRow> flow = sharing.Begin(group, {.bytes = 1});
  EXPECT_TRUE(flow.has_value());
  return flow.value_or(0);
}

// 0.4 + 0.4 fit on a link; with a third of 0.4 each gets a third of it: 0.333 / 0.4.
TEST(LinkSharingTest, TransfersSlowEachOtherDownWhenTheyWantMoreThanThereIs) {
  GivenUsage usage(1, {{0, Takes({{0, 0.4}})}, {1, Takes({{0, 0.4}})}, {2, Takes({{0, 0.4}})}});
  LinkSharing sharing(usage);
  const FlowRow first = BeginOrDie(sharing, 0);
  const FlowRow second = BeginOrDie(sharing, 1);
  static_cast<void>(sharing.Refill());
  EXPECT_DOUBLE_EQ(sharing.SpeedOf(first), 1);
  EXPECT_DOUBLE_EQ(sharing.SpeedOf(second), 1);
  const FlowRow third = BeginOrDie(sharing, 2);
  static_cast<void>(sharing.Refill());
  for (const FlowRow flow : {first, second, third}) {
    EXPECT_NEAR(sharing.SpeedOf(flow), 1 / 1.2, 1e-12);
  }
  sharing.End(first);
  static_cast<void>(sharing.Refill());
  EXPECT_DOUBLE_EQ(sharing.SpeedOf(second), 1);
}

// A message of 10 bytes a second beside one of 100: the small one wants less than half and keeps
// it, the large one gets the other 90.
TEST(LinkSharingTest, WhoWantsLessThanAnEqualShareGetsIt) {
  GivenUsage usage(1, {{0, Takes({{0, 0.1}})}, {1, Takes({{0, 1.0}})}});
  LinkSharing sharing(usage);
  const FlowRow small = BeginOrDie(sharing, 0);
  const FlowRow large = BeginOrDie(sharing, 1);
  static_cast<void>(sharing.Refill());
  EXPECT_DOUBLE_EQ(sharing.SpeedOf(small), 1);
  EXPECT_NEAR(sharing.SpeedOf(large), 0.9, 1e-12);
}

// Slowed down to a fifth by its GPU, the first leaves 0.8 of the link to the second; when it is
// fast again, each has half.
TEST(LinkSharingTest, OthersGetWhatASlowTransferLeaves) {
  GivenUsage usage(1, {{0, Takes({{0, 1.0}})}, {1, Takes({{0, 1.0}})}});
  LinkSharing sharing(usage);
  const FlowRow first = BeginOrDie(sharing, 0);
  const FlowRow second = BeginOrDie(sharing, 1);
  sharing.SetCap(first, 0.2);
  static_cast<void>(sharing.Refill());
  EXPECT_NEAR(sharing.SpeedOf(first), 0.2, 1e-12);
  EXPECT_NEAR(sharing.SpeedOf(second), 0.8, 1e-12);
  sharing.SetCap(first, 1);
  static_cast<void>(sharing.Refill());
  EXPECT_NEAR(sharing.SpeedOf(first), 0.5, 1e-12);
  EXPECT_NEAR(sharing.SpeedOf(second), 0.5, 1e-12);
}

// Three transfers meet before link 3, which gives each a third of its 100 bytes a second. The
// victim shares link 0 with one of them, and 67 are left there, of which it wants 50. Link 0 would
// give each 50, and passes a third of 100 of one: two thirds of the other.
TEST(LinkSharingTest, PausesHoldBackWhoWaitsBehindAnother) {
  std::map<GroupClassId, TransferUses> uses;
  for (const network::LinkId from : {0U, 1U, 2U}) {
    uses[from] = Takes({{from, 1.0}, {3, 1.0}});
    uses[from].pairs = {{.before = from, .after = 3}};
  }
  uses[3] = Takes({{0, 0.5}, {4, 0.5}});
  uses[3].pairs = {{.before = 0, .after = 4}};
  GivenUsage usage(5, uses);
  const network::CongestionModel congestion{.pauses = true};
  LinkSharing plain(usage);
  LinkSharing sharing(usage, &congestion);
  std::vector<FlowRow> flows;
  for (const GroupClassId group : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(BeginOrDie(plain, group), flows.emplace_back(BeginOrDie(sharing, group)));
  }
  static_cast<void>(plain.Refill());
  EXPECT_EQ(sharing.Refill().size(), 4U);
  EXPECT_NEAR(plain.SpeedOf(flows[3]), 1, 1e-12);
  EXPECT_NEAR(sharing.SpeedOf(flows[3]), 2.0 / 3, 1e-12);
  for (const FlowRow flow : {flows[0], flows[1], flows[2]}) {
    EXPECT_NEAR(sharing.SpeedOf(flow), 1.0 / 3, 1e-12);
  }
  // Without its cause the victim is as fast as before, and it is told to the caller.
  sharing.End(flows[0]);
  const auto changed = sharing.Refill();
  EXPECT_NE(std::ranges::find(changed, flows[3], &network::FairFilling::Filled::flow),
            changed.end());
  EXPECT_NEAR(sharing.SpeedOf(flows[3]), 1, 1e-12);
}

// Four ranks in two groups; rank 2 computes first.
Ensemble TwoGroups(std::int64_t late_ps) {
  Ensemble ensemble;
  ensemble.num_roles = 1;
  for (const std::int64_t work_ps : {std::int64_t{0}, late_ps}) {
    RankWriter rank({"dp"});
    const TaskId work = rank.Kernel(work_ps);
    rank.After(work, rank.Talk(0, 100));
    ensemble.programs.push_back(std::move(rank.program));
  }
  for (const workload::ProgramId program : {0U, 0U, 1U, 1U}) {
    AddRank(ensemble, program);
  }
  Join(ensemble, 0, {0, 1});
  Join(ensemble, 0, {2, 3});
  return ensemble;
}

// Two transfers of 100 ps alone on one link, the second from 50 on: the first has 50 left, which
// takes 100 at half speed, until 150; the second has then 50 left and the link for itself: 200.
TEST(LinkSharingTest, TransfersShareALinkWhileTheyOverlap) {
  const Ensemble ensemble = TwoGroups(50);
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(8));
  GivenUsage usage(1, {{0, Takes({{0, 1.0}})}, {1, Takes({{0, 1.0}})}});
  PlainTimes times;
  const Result<Timeline> timeline = Simulate(ranks, times, {.links = &usage});
  ASSERT_TRUE(timeline.has_value()) << timeline.error().message();
  EXPECT_EQ(timeline->EndOf(0), 150);
  EXPECT_EQ(timeline->EndOf(2), 200);
  ASSERT_EQ(timeline->delayed.size(), 4U);
  for (const DelayedTask& task : timeline->delayed) {
    EXPECT_EQ(task.alone_ps, 100);
    EXPECT_EQ(task.contended_ps, 50);
  }
}

// Traffic of 50 ps on the link of a transfer of 100: it is done after 100 at half speed, when the
// transfer has 50 left. Traffic of 1000 lasts beyond it, and no task waits for that: the transfer
// takes 200, and traffic has 900 left then.
TEST(LinkSharingTest, TrafficBesideThePrograms) {
  const Ensemble ensemble = TwoGroups(0);
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(8));
  GivenUsage usage(2, {{0, Takes({{0, 1.0}})}, {1, Takes({{1, 1.0}})}});
  PlainTimes times;
  for (const auto& [duration_ps, end_ps, done_ps] :
       {std::tuple(50, 150, 100), std::tuple(1000, 200, 1100)}) {
    const std::vector<LinkTraffic> traffic{{.uses = Takes({{0, 1.0}}), .duration_ps = duration_ps}};
    const Result<Timeline> timeline =
        Simulate(ranks, times, {.links = &usage, .traffic = &traffic});
    ASSERT_TRUE(timeline.has_value()) << timeline.error().message();
    EXPECT_EQ(timeline->EndOf(0), end_ps);
    EXPECT_EQ(timeline->EndOf(2), 100);
    EXPECT_EQ(timeline->EndPs(), end_ps);
    EXPECT_THAT(timeline->traffic_end_ps, testing::ElementsAre(done_ps));
  }
}

TEST(LinkSharingTest, TransfersOnOtherLinksTakeAsLongAsAlone) {
  const Ensemble ensemble = TwoGroups(50);
  const RankClasses ranks = Unfolded(ensemble, IslandLinkClass(8));
  GivenUsage usage(2, {{0, Takes({{0, 1.0}})}, {1, Takes({{1, 1.0}})}});
  PlainTimes times;
  const Result<Timeline> shared = Simulate(ranks, times, {.links = &usage});
  const Result<Timeline> alone = Simulate(ranks, times);
  ASSERT_TRUE(shared.has_value() && alone.has_value());
  EXPECT_EQ(shared->end_ps, alone->end_ps);
  EXPECT_TRUE(shared->delayed.empty());
}

}  // namespace
}  // namespace orrery::simulate
