#include "orrery/simulate/engine/rank_classes.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/network/topology.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/workload/ensemble.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;
using workload::Ensemble;
using workload::Rank;

constexpr std::uint32_t kTp = 0;
constexpr std::uint32_t kDp = 1;
constexpr std::uint32_t kPp = 2;

/// Ranks count tp first, then dp, then pp; every stage has a program of its own. The stages of a
/// replica communication messages on role pp, the first with the second, the second with the third
/// …
struct Shape {
  std::uint32_t tp = 2;
  std::uint32_t dp = 2;
  std::uint32_t pp = 2;

  [[nodiscard]] Rank RankAt(std::uint32_t t, std::uint32_t d, std::uint32_t p) const {
    return t + tp * (d + dp * p);
  }
};

Ensemble Job(const Shape& shape) {
  Ensemble ensemble;
  ensemble.num_roles = 3;
  for (std::uint32_t p = 0; p < shape.pp; ++p) {
    RankWriter rank({"tp", "dp", "pp"});
    rank.Kernel(10 + p);
    rank.Talk(kTp, 5);
    rank.Talk(kDp, 7);
    rank.Message(kPp, 2);
    ensemble.programs.push_back(std::move(rank.program));
  }
  for (Rank rank = 0; rank < shape.tp * shape.dp * shape.pp; ++rank) {
    AddRank(ensemble, rank / (shape.tp * shape.dp));
  }
  for (std::uint32_t p = 0; p < shape.pp; ++p) {
    for (std::uint32_t d = 0; d < shape.dp; ++d) {
      std::vector<Rank> members;
      for (std::uint32_t t = 0; t < shape.tp; ++t) {
        members.push_back(shape.RankAt(t, d, p));
      }
      Join(ensemble, kTp, members);
    }
    for (std::uint32_t t = 0; t < shape.tp; ++t) {
      std::vector<Rank> members;
      for (std::uint32_t d = 0; d < shape.dp; ++d) {
        members.push_back(shape.RankAt(t, d, p));
      }
      Join(ensemble, kDp, members);
    }
  }
  for (std::uint32_t p = 0; p + 1 < shape.pp; p += 2) {
    for (std::uint32_t i = 0; i < shape.tp * shape.dp; ++i) {
      const Rank lower = p * shape.tp * shape.dp + i;
      Join(ensemble, kPp, {lower, lower + shape.tp * shape.dp});
    }
  }
  return ensemble;
}

// All ranks of a stage are alike; islands of 8 hold the whole job, so all groups of a kind are too.
TEST(CastTest, ASymmetricJobHasARankClassForEachStage) {
  const Ensemble ensemble = Job({.tp = 2, .dp = 2, .pp = 2});

  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(8));

  EXPECT_THAT(rank_classes.class_of_rank, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(rank_classes.classes[1], (RankClass{.program = 1, .multiplicity = 4, .rank = 4}));
  EXPECT_TRUE(rank_classes.IsFolded());
  // tp and dp of each stage with one seat each, and the messages between the two.
  ASSERT_EQ(rank_classes.groups.size(), 5U);
  EXPECT_EQ(rank_classes.groups[rank_classes.GroupOf(0, kTp)].num_members, 1U);
  EXPECT_EQ(rank_classes.groups[rank_classes.GroupOf(0, kTp)].num_ranks, 2U);
  EXPECT_EQ(rank_classes.GroupOf(0, kPp), rank_classes.GroupOf(1, kPp));
  EXPECT_EQ(rank_classes.groups[rank_classes.GroupOf(0, kPp)].num_members, 2U);
  EXPECT_THAT(rank_classes.GpusOf(rank_classes.GroupOf(1, kTp)), ElementsAre(4, 5));
}

// Rank 0 is slow. It shares its tp group with 1, its dp group with 2, and 3 is in the groups of
// those; the other stage is touched through the messages in the same way: nothing is left to fold.
// With four replicas of tp 1 the other three stay together.
TEST(CastTest, AStragglerSplitsOnlyWhatItTouches) {
  Ensemble ensemble = Job({.tp = 1, .dp = 4, .pp = 2});
  ensemble.slowness_of_rank[0] = 1.3;

  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(8));

  EXPECT_THAT(rank_classes.class_of_rank, ElementsAre(0, 1, 1, 1, 2, 3, 3, 3));
  EXPECT_EQ(rank_classes.classes[0].slowness, 1.3);
}

// Islands of 3: the tp group of ranks 2 and 3 lies across two of them.
TEST(CastTest, PlacementSplitsClasses) {
  RankWriter rank({"tp"});
  rank.Talk(0, 5);
  Ensemble ensemble;
  ensemble.num_roles = 1;
  ensemble.programs.push_back(std::move(rank.program));
  for (int i = 0; i < 6; ++i) {
    AddRank(ensemble, 0);
  }
  Join(ensemble, 0, {0, 1});
  Join(ensemble, 0, {2, 3});
  Join(ensemble, 0, {4, 5});

  EXPECT_THAT(Fold(ensemble, IslandLinkClass(3)).class_of_rank, ElementsAre(0, 0, 1, 1, 0, 0));
}

// A ring of ranks with one program: each sends on role 0 to the next and receives on role 1.
TEST(CastTest, APairThatSendsMessagesIsTwoRankClasses) {
  RankWriter rank({"pp next", "pp previous"});
  rank.Message(0, 5);
  rank.Message(1, 5);
  Ensemble ensemble;
  ensemble.num_roles = 2;
  ensemble.programs.push_back(std::move(rank.program));
  constexpr Rank kRanks = 4;
  for (Rank i = 0; i < kRanks; ++i) {
    AddRank(ensemble, 0);
  }
  for (Rank i = 0; i < kRanks; ++i) {
    const Rank next = (i + 1) % kRanks;
    const workload::GroupId group = ensemble.AddGroup(std::vector<Rank>{i, next});
    ensemble.group_of_role[std::size_t{i} * 2] = group;
    ensemble.group_of_role[std::size_t{next} * 2 + 1] = group;
  }

  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(8));

  for (Rank i = 0; i < kRanks; ++i) {
    EXPECT_NE(rank_classes.class_of_rank[i], rank_classes.class_of_rank[(i + 1) % kRanks]);
  }
}

// A group on two roles is two places where communication meets.
TEST(CastTest, OneGroupInTwoRolesIsMatchedRoleByRole) {
  RankWriter rank({"tp", "ep"});
  rank.Talk(0, 5);
  rank.Talk(1, 5);
  Ensemble ensemble;
  ensemble.num_roles = 2;
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);
  AddRank(ensemble, 0);
  const workload::GroupId group = Join(ensemble, 0, {0, 1});
  ensemble.group_of_role.assign(4, group);

  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(8));

  ASSERT_EQ(rank_classes.groups.size(), 2U);
  EXPECT_EQ(rank_classes.groups[0].num_members, 2U);
  EXPECT_NE(rank_classes.GroupOf(0, 0), rank_classes.GroupOf(0, 1));
}

TEST(LinkClassTest, CountsMembersOfIslandsInOrder) {
  const IslandLinkClass links(4);
  const auto of = [&](std::vector<network::GpuId> gpus) { return links.Of(gpus); };

  EXPECT_EQ(of({0, 1, 4}), of({8, 9, 12}));
  EXPECT_EQ(of({0, 4, 1}), of({0, 1, 4}));  // two in the first island, one in the second
  EXPECT_NE(of({0, 4, 5}), of({0, 1, 4}));
  EXPECT_NE(of({0, 1}), of({0, 1, 2}));
}

}  // namespace
}  // namespace orrery::simulate
