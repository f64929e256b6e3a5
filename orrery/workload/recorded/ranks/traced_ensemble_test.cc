#include "orrery/workload/recorded/ranks/traced_ensemble.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/string_table.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/ranks/traced_job.h"

namespace orrery::workload {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A group, its ranks in words.
TracedGroup Group(const std::string& name, const std::string& ranks, Rank world) {
  return {.name = name, .description = name, .ranks = *ParseRanks(ranks, world)};
}

TracedCommunication AllReduce(std::uint32_t group) {
  return {.group = group, .bytes = 1024};
}

TracedCommunication Message(TracedCommunicationKind form, std::uint32_t group, std::int64_t peer) {
  return {
      .form = form, .kind = CollectiveKind::kSendRecv, .group = group, .bytes = 64, .peer = peer};
}

/// The program of a traced rank without its recording: its communications, and an optimizer's
/// kernel.
Program ProgramOf(const TracedJob& job, const TracedGroupRoles& roles, std::size_t traced) {
  Program program;
  program.lanes.Append({.kind = LaneKind::kStream});
  program.parts.Append({.phase = Phase::kOptimizer});
  for (const TracedCommunication& communication : job.ranks[traced].collectives.communications) {
    const std::string name = roles.NameOf(traced, communication);
    const StringId role = program.strings.Intern(name);
    const auto found = std::ranges::find(program.roles.name, role);
    const auto number = static_cast<std::uint32_t>(found - program.roles.name.begin());
    if (found == program.roles.name.end()) {
      program.AddRole(name, roles.roles().find(name)->second.dimension);
    }
    const CommunicationId row = program.communications.Append(
        {.role = number, .kind = communication.kind, .bytes = communication.bytes});
    program.tasks.Append({.lane = 0, .kind = TaskKind::kCollective, .communication = row});
  }
  program.tasks.Append({.lane = 0, .kind = TaskKind::kKernel, .duration_ps = 1000, .part = 0});
  return program;
}

Result<TracedEnsemble> Build(const TracedJob& job, Rank world) {
  const TracedGroupRoles roles(job);
  std::vector<Program> programs;
  for (std::size_t traced = 0; traced < job.ranks.size(); ++traced) {
    programs.push_back(ProgramOf(job, roles, traced));
  }
  return EnsembleOfTracedJob(job, roles, std::move(programs), world);
}

std::uint32_t RoleNamed(const Ensemble& ensemble, std::string_view name) {
  const Program& program = ensemble.programs.front();
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    if (program.RoleName(role) == name) {
      return role;
    }
  }
  ADD_FAILURE() << "no role " << name;
  return 0;
}

std::vector<Rank> MembersOf(const Ensemble& ensemble, Rank rank, std::string_view role) {
  const GroupId group = ensemble.GroupOf(rank, RoleNamed(ensemble, role));
  if (group == kNoGroup) {
    return {};
  }
  const auto members = ensemble.Members(group);
  return {members.begin(), members.end()};
}

/// Two ways of tensor parallelism inside four data-parallel ranks.
TracedJob TensorAndData() {
  TracedJob job{.name = "test", .gpu = "H200", .world = 8, .ranks = {}};
  job.mesh = {{"pp", 1, 8}, {"dp", 4, 2}, {"tp", 2, 1}};
  TracedRank rank{.rank = 0, .stands_for = *ParseRanks("0-7", 8)};
  rank.collectives.groups = {Group("0", "0-7", 8), Group("mesh_dp", "0,2,4,6", 8),
                             Group("mesh_tp", "0,1", 8)};
  rank.collectives.communications = {AllReduce(0), AllReduce(1), AllReduce(2)};
  job.ranks.push_back(std::move(rank));
  return job;
}

TEST(TracedEnsembleTest, GroupsOfRanksThatWereNotTracedHaveTheSameShape) {
  const auto traced = Build(TensorAndData(), 8);

  ASSERT_TRUE(traced) << traced.error().message();
  EXPECT_THAT(traced->remarks, ElementsAre());
  const Ensemble& ensemble = traced->ensemble;
  EXPECT_EQ(ensemble.num_ranks(), 8);
  EXPECT_THAT(MembersOf(ensemble, 5, "tp"), ElementsAre(4, 5));
  EXPECT_THAT(MembersOf(ensemble, 5, "dp"), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(MembersOf(ensemble, 5, "world"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Width 4 becomes 8: tp stays, dp has stride 2 and 8 members, the world 16.
TEST(TracedEnsembleTest, TheWorldGrowsAlongDataParallelism) {
  const auto traced = Build(TensorAndData(), 16);

  ASSERT_TRUE(traced) << traced.error().message();
  const Ensemble& ensemble = traced->ensemble;
  EXPECT_THAT(MembersOf(ensemble, 13, "tp"), ElementsAre(12, 13));
  EXPECT_THAT(MembersOf(ensemble, 13, "dp"), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15));
  EXPECT_EQ(MembersOf(ensemble, 13, "world").size(), 16);
  EXPECT_THAT(traced->remarks, ElementsAre(HasSubstr("8 data-parallel ranks instead of the 4")));
}

// HSDP of two replicas, each over four ranks: eight more ranks are two more replicas, and a rank
// keeps the share of the states that it had.
TEST(TracedEnsembleTest, ReplicasOfShardsGrow) {
  TracedJob job = TensorAndData();
  job.is_sharded = true;
  job.mesh = {{"dp_replicate", 2, 4}, {"dp_shard", 4, 1}};
  job.ranks[0].collectives.groups = {Group("r", "0,4", 8), Group("s", "0,1,2,3", 8)};
  job.ranks[0].collectives.communications = {AllReduce(0), AllReduce(1)};

  const auto traced = Build(job, 16);

  ASSERT_TRUE(traced) << traced.error().message();
  EXPECT_THAT(MembersOf(traced->ensemble, 5, "dp_replicate"), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(MembersOf(traced->ensemble, 5, "dp_shard"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(traced->remarks, ElementsAre(HasSubstr("4 data-parallel ranks instead of the 2")));
}

TEST(TracedEnsembleTest, AWorldThatDoesNotDivideIsRefused) {
  const auto traced = Build(TensorAndData(), 15);

  ASSERT_FALSE(traced);
  EXPECT_THAT(traced.error().message(), HasSubstr("give a multiple of 2"));
}

TEST(TracedEnsembleTest, AJobWithoutDataParallelismDoesNotGrow) {
  TracedJob job{.name = "test", .gpu = "H200", .world = 1, .ranks = {}};
  job.ranks.push_back({.rank = 0, .stands_for = {0}});

  const auto traced = Build(job, 64);

  ASSERT_FALSE(traced);
  EXPECT_THAT(traced.error().message(), HasSubstr("--ddp or --fsdp"));
}

TEST(TracedEnsembleTest, AShardedOptimizerHasLessToDo) {
  TracedJob job = TensorAndData();
  job.is_sharded = true;

  const auto traced = Build(job, 16);

  ASSERT_TRUE(traced);
  EXPECT_EQ(traced->ensemble.programs[0].tasks.duration_ps.back(), 500);
  EXPECT_THAT(traced->remarks.back(), HasSubstr("0.5 times"));
}

/// Two stages of two data-parallel ranks each: 0 and 1 send to 2 and 3.
TracedJob Pipeline() {
  TracedJob job{.name = "test", .gpu = "H200", .world = 4, .ranks = {}};
  job.mesh = {{"pp", 2, 2}, {"dp", 2, 1}, {"tp", 1, 1}};
  TracedRank first{.rank = 0, .stands_for = {0, 1}};
  first.collectives.groups = {Group("mesh_pp", "0,2", 4), Group("mesh_dp", "0,1", 4)};
  first.collectives.communications = {Message(TracedCommunicationKind::kSend, 0, 2),
                                      Message(TracedCommunicationKind::kReceive, 0, 2),
                                      AllReduce(1)};
  TracedRank second{.rank = 2, .stands_for = {2, 3}};
  second.collectives.groups = {Group("mesh_pp", "0,2", 4), Group("mesh_dp", "2,3", 4)};
  second.collectives.communications = {Message(TracedCommunicationKind::kReceive, 0, 0),
                                       Message(TracedCommunicationKind::kSend, 0, 0), AllReduce(1)};
  job.ranks = {first, second};
  return job;
}

TEST(TracedEnsembleTest, MessagesGoToTheSameNeighbour) {
  const auto traced = Build(Pipeline(), 4);

  ASSERT_TRUE(traced) << traced.error().message();
  const Ensemble& ensemble = traced->ensemble;
  EXPECT_THAT(ensemble.program_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(MembersOf(ensemble, 1, "pp send +2"), ElementsAre(1, 3));
  EXPECT_THAT(MembersOf(ensemble, 3, "pp receive -2"), ElementsAre(1, 3));
  EXPECT_THAT(MembersOf(ensemble, 3, "pp send -2"), ElementsAre(3, 1));
  EXPECT_THAT(MembersOf(ensemble, 1, "pp receive +2"), ElementsAre(3, 1));
  EXPECT_THAT(MembersOf(ensemble, 3, "dp"), ElementsAre(2, 3));
}

// Rank 2 has the coordinate 2 / 2 % 2 = 1 on "pp"; without such a dimension it is not known.
TEST(TracedEnsembleTest, StagesAreCoordinatesOfTheMesh) {
  TracedJob job = Pipeline();
  EXPECT_TRUE(Build(job, 4)->ensemble.knows_stages);
  EXPECT_THAT(Build(job, 4)->ensemble.stage_of_program, ElementsAre(0, 1));
  job.mesh.clear();
  EXPECT_FALSE(Build(job, 4)->ensemble.knows_stages);
}

// Stages lie outside data parallelism: with six ranks each, the second begins at 6.
TEST(TracedEnsembleTest, StagesMoveApartWhenTheirRanksGrow) {
  const auto traced = Build(Pipeline(), 12);

  ASSERT_TRUE(traced) << traced.error().message();
  const Ensemble& ensemble = traced->ensemble;
  EXPECT_THAT(ensemble.program_of_rank, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(MembersOf(ensemble, 4, "pp send +2"), ElementsAre(4, 10));
  EXPECT_THAT(MembersOf(ensemble, 10, "dp"), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST(TracedEnsembleTest, AGroupThatDoesNotTileIsTakenAsListed) {
  TracedJob job{.name = "test", .gpu = "H200", .world = 4, .ranks = {}};
  TracedRank rank{.rank = 0, .stands_for = {0, 1, 2, 3}};
  rank.collectives.groups = {Group("odd", "0,1,3", 4)};
  rank.collectives.communications = {AllReduce(0)};
  job.ranks.push_back(rank);

  const auto traced = Build(job, 4);

  ASSERT_TRUE(traced);
  EXPECT_THAT(MembersOf(traced->ensemble, 3, "odd listed 1"), ElementsAre(0, 1, 3));
  EXPECT_THAT(MembersOf(traced->ensemble, 2, "odd listed 1"), ElementsAre());
  EXPECT_THAT(traced->remarks, ElementsAre(HasSubstr("1 ranks have no peer")));
}

TEST(GroupShapeTest, ProgressionsThatTileHaveOne) {
  EXPECT_EQ(ShapeOf(std::vector<Rank>{4, 6, 5, 7}), (GroupShape{1, 4}));
  EXPECT_EQ(ShapeOf(std::vector<Rank>{1, 9}), (GroupShape{8, 2}));
  EXPECT_EQ(ShapeOf(std::vector<Rank>{1, 2}), std::nullopt);  // beside 0 and 1
  EXPECT_EQ(ShapeOf(std::vector<Rank>{0, 1, 3}), std::nullopt);
  EXPECT_EQ(ShapeOf(std::vector<Rank>{0}), std::nullopt);
}

// Every rank is in the group that it has on a role, also where that has one member.
RC_GTEST_PROP(TracedEnsembleTest, GroupsTileWorldsOfAnyWidth, ()) {
  const auto width = static_cast<Rank>(*rc::gen::inRange(1, 40));

  const auto traced = Build(TensorAndData(), 2 * width);

  RC_ASSERT(traced.has_value());
  const Ensemble& ensemble = traced->ensemble;
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    for (const std::string_view role : {"tp", "dp", "world"}) {
      const std::vector<Rank> members = MembersOf(ensemble, rank, role);
      const Rank size = role == "tp" ? 2 : role == "dp" ? width : 2 * width;
      RC_ASSERT(members.size() == size);
      RC_ASSERT(std::ranges::find(members, rank) != members.end());
    }
  }
}

}  // namespace
}  // namespace orrery::workload
