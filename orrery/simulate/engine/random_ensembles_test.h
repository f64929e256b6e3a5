#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/workload/ensemble.h"

// Random jobs for property tests: tensor, data and pipeline groups with programs that differ by
// stage, hosts that launch, stragglers, and messages between neighbours of the pipeline.

namespace orrery::simulate {

struct RandomJob {
  std::uint32_t tp = 1;
  std::uint32_t dp = 1;
  std::uint32_t pp = 1;
  std::uint32_t microbatches = 1;
  bool has_programs_by_stage = false;
  bool is_launched = false;
  std::vector<std::uint32_t> work;  // tasks of a micro-batch
  std::uint32_t straggler = 0;      // odd: a rank, modulo their number, is slow

  static constexpr std::uint32_t kTp = 0;
  static constexpr std::uint32_t kDp = 1;
  static constexpr std::uint32_t kNext = 2;
  static constexpr std::uint32_t kPrevious = 3;
  static constexpr std::uint32_t kNumGroupRoles = 4;

  [[nodiscard]] std::uint32_t num_ranks() const { return tp * dp * pp; }

  [[nodiscard]] workload::Ensemble Write() const {
    workload::Ensemble ensemble;
    ensemble.num_roles = kNumGroupRoles;
    for (std::uint32_t stage = 0; stage < pp; ++stage) {
      ensemble.programs.push_back(StageProgram(stage));
    }
    for (workload::Rank rank = 0; rank < num_ranks(); ++rank) {
      AddRank(ensemble, rank / (tp * dp));
    }
    if (straggler % 2 == 1) {
      ensemble.slowness_of_rank[straggler / 8 % num_ranks()] = 1.1 + 0.1 * (straggler / 2 % 4);
    }
    AddGroups(ensemble);
    return ensemble;
  }

 private:
  void AddGroups(workload::Ensemble& ensemble) const {
    for (workload::Rank rank = 0; rank < num_ranks(); ++rank) {
      const std::uint32_t place = rank % (tp * dp);
      if (place % tp == 0) {
        Join(ensemble, kTp, Strided(rank, tp, 1));
      }
      if (place / tp == 0) {
        Join(ensemble, kDp, Strided(rank, dp, tp));
      }
      if (rank + tp * dp < num_ranks()) {
        const workload::GroupId group =
            ensemble.AddGroup(std::vector<workload::Rank>{rank, rank + tp * dp});
        ensemble.group_of_role[rank * kNumGroupRoles + kNext] = group;
        ensemble.group_of_role[(rank + tp * dp) * kNumGroupRoles + kPrevious] = group;
      }
    }
  }

  [[nodiscard]] static std::vector<workload::Rank> Strided(workload::Rank first,
                                                           std::uint32_t count,
                                                           std::uint32_t stride) {
    std::vector<workload::Rank> members;
    for (std::uint32_t i = 0; i < count; ++i) {
      members.push_back(first + i * stride);
    }
    return members;
  }

  // Micro-batches one after the other: from the stage before, work, to the stage behind. Messages
  // from before come on stream 2, messages to behind leave on stream 3.
  [[nodiscard]] workload::Program StageProgram(std::uint32_t stage) const {
    RankWriter rank({"tp", "dp", "pp next", "pp previous"});
    rank.program.lanes.Append({.kind = workload::LaneKind::kStream, .number = 9, .gap_ps = 2});
    for (std::uint32_t i = 0; i < 8; ++i) {
      rank.program.parts.Append(
          {.sm_share = i < 4 ? 1'000'000 : 100'000 * i, .memory_share = 150'000 * (i + 1)});
    }
    rank.program.parts.Append({.sm_share = 130'000, .memory_share = 300'000});
    for (std::uint32_t i = 0; i < microbatches; ++i) {
      AddMicrobatch(rank, stage);
    }
    return std::move(rank.program);
  }

  void AddMicrobatch(RankWriter& rank, std::uint32_t stage) const {
    constexpr workload::PartId kTalk = 8;
    workload::TaskId last = workload::kNone;
    if (stage > 0) {
      last = rank.Talk(kPrevious, 3, 2, CollectiveKind::kSendRecv, kTalk);
    }
    for (const std::uint32_t number : work) {
      const workload::TaskId task = AddWork(rank, stage, number);
      if (last != workload::kNone && number % 3 != 0) {
        rank.After(last, task, number % 5);
      }
      last = task;
    }
    if (stage + 1 < pp) {
      const workload::TaskId send = rank.Talk(kNext, 3, 3, CollectiveKind::kSendRecv, kTalk);
      if (last != workload::kNone) {
        rank.After(last, send);
      }
    }
  }

  [[nodiscard]] workload::TaskId AddWork(RankWriter& rank, std::uint32_t stage,
                                         std::uint32_t number) const {
    const std::int64_t extra_ps = has_programs_by_stage ? 13 * stage : 0;
    const auto size = static_cast<std::int64_t>(number / 16 % 500);
    const workload::LaneId lane = number % 2 == 0 ? 1 : 2;
    constexpr workload::PartId kTalk = 8;
    switch (number % 8) {
      case 0:
        return rank.Talk(kDp, size, lane, CollectiveKind::kAllReduce, kTalk);
      case 1:
      case 2:
        return rank.Talk(kTp, size, lane, CollectiveKind::kAllGather, kTalk);
      default:
        const workload::TaskId kernel =
            is_launched ? rank.Launched(20, size + extra_ps) : rank.Kernel(size + extra_ps);
        rank.program.tasks.part[kernel] = number % 8;
        return kernel;
    }
  }
};

inline std::ostream& operator<<(std::ostream& out, const RandomJob& job) {
  return out << "tp " << job.tp << ", dp " << job.dp << ", pp " << job.pp << ", micro-batches "
             << job.microbatches << ", work " << rc::toString(job.work) << ", straggler "
             << job.straggler;
}

}  // namespace orrery::simulate

namespace rc {

template <>
struct Arbitrary<orrery::simulate::RandomJob> {
  static Gen<orrery::simulate::RandomJob> arbitrary() {
    using orrery::simulate::RandomJob;
    return gen::build<RandomJob>(
        gen::set(&RandomJob::tp, gen::inRange<std::uint32_t>(1, 4)),
        gen::set(&RandomJob::dp, gen::inRange<std::uint32_t>(1, 5)),
        gen::set(&RandomJob::pp, gen::inRange<std::uint32_t>(1, 4)),
        gen::set(&RandomJob::microbatches, gen::inRange<std::uint32_t>(1, 4)),
        gen::set(&RandomJob::has_programs_by_stage), gen::set(&RandomJob::is_launched),
        gen::set(&RandomJob::work,
                 gen::container<std::vector<std::uint32_t>>(gen::arbitrary<std::uint32_t>())),
        gen::set(&RandomJob::straggler, gen::inRange<std::uint32_t>(0, 1000)));
  }
};

}  // namespace rc
