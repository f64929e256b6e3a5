#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/cost_model.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"

// Small jobs for tests, written like programs.

namespace orrery::simulate {

/// A program with a host thread (lane 0), a compute stream (lane 1) and a stream for communication
/// (lane 2). Tasks are not launched unless it says so.
class RankWriter {
 public:
  RankWriter(std::initializer_list<std::string_view> roles) {
    program.lanes.Append({.kind = workload::LaneKind::kHostThread});
    program.lanes.Append({.kind = workload::LaneKind::kStream, .number = 7});
    program.lanes.Append({.kind = workload::LaneKind::kStream, .number = 8});
    for (const std::string_view role : roles) {
      program.AddRole(role, role.substr(0, role.find(' ')));
    }
  }

  workload::TaskId Kernel(std::int64_t duration_ps, workload::PartId part = workload::kNone) {
    return program.tasks.Append({.lane = 1,
                                 .kind = workload::TaskKind::kKernel,
                                 .duration_ps = duration_ps,
                                 .name = program.strings.Intern("kernel"),
                                 .part = part});
  }

  workload::TaskId Launched(std::int64_t launch_ps, std::int64_t duration_ps) {
    const workload::TaskId launch =
        program.tasks.Append({.lane = 0,
                              .kind = workload::TaskKind::kLaunch,
                              .duration_ps = launch_ps,
                              .name = program.strings.Intern("cudaLaunchKernel")});
    const workload::TaskId kernel = Kernel(duration_ps);
    program.tasks.launch[kernel] = launch;
    return kernel;
  }

  workload::TaskId Talk(std::uint32_t role, std::int64_t bytes, workload::LaneId lane = 2,
                        CollectiveKind kind = CollectiveKind::kAllReduce,
                        workload::PartId part = workload::kNone) {
    const workload::CommunicationId communication =
        program.communications.Append({.role = role, .kind = kind, .bytes = bytes});
    return program.tasks.Append({.lane = lane,
                                 .kind = workload::TaskKind::kCollective,
                                 .name = program.strings.Intern(CollectiveKindName(kind)),
                                 .part = part,
                                 .communication = communication});
  }

  workload::TaskId Message(std::uint32_t role, std::int64_t bytes, workload::LaneId lane = 2) {
    return Talk(role, bytes, lane, CollectiveKind::kSendRecv);
  }

  void After(workload::TaskId from, workload::TaskId to, std::int64_t lag_ps = 0) {
    program.edges.Append({.from = from, .to = to, .lag_ps = lag_ps});
  }

  workload::Program program;
};

/// Adds ranks with GPU numbers as their own.
inline workload::Rank AddRank(workload::Ensemble& ensemble, workload::ProgramId program,
                              double slowness = 1) {
  const workload::Rank rank = ensemble.num_ranks();
  ensemble.program_of_rank.push_back(program);
  ensemble.gpu_of_rank.push_back(rank);
  ensemble.slowness_of_rank.push_back(slowness);
  ensemble.group_of_role.insert(ensemble.group_of_role.end(), ensemble.num_roles,
                                workload::kNoGroup);
  return rank;
}

/// Adds a group that all its members have on one role.
inline workload::GroupId Join(workload::Ensemble& ensemble, std::uint32_t role,
                              const std::vector<workload::Rank>& members) {
  const workload::GroupId group = ensemble.AddGroup(members);
  for (const workload::Rank rank : members) {
    ensemble.group_of_role[static_cast<std::size_t>(rank) * ensemble.num_roles + role] = group;
  }
  return group;
}

/// A picosecond a byte inside an island of `gpus_per_island`, ten between islands.
class PlainTimes : public CommunicationTimes {
 public:
  explicit PlainTimes(std::uint32_t gpus_per_island = 8) : gpus_per_island_(gpus_per_island) {}

  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row& communication,
                                                std::span<const network::GpuId> gpus) override {
    ++num_asked;
    return IsInside(gpus) ? communication.bytes : 10 * communication.bytes;
  }

  /// 25 blocks that move a gigabyte a second.
  [[nodiscard]] Result<CommunicationTask> KernelOf(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) override {
    return CommunicationTask{
        .blocks = 25, .threads = 544, .pattern = overlap::Pattern::kCopy, .payload_gbps = 1};
  }

  int num_asked = 0;

 protected:
  [[nodiscard]] bool IsInside(std::span<const network::GpuId> gpus) const {
    return std::ranges::all_of(gpus, [&](network::GpuId gpu) {
      return gpu / gpus_per_island_ == gpus[0] / gpus_per_island_;
    });
  }

 private:
  std::uint32_t gpus_per_island_;
};

/// The same, and all bandwidth of links inside islands, or half of a NIC's by each rank.
class LinkTimes : public PlainTimes {
 public:
  using PlainTimes::PlainTimes;

  static constexpr Bandwidth kLink{1e12};
  static constexpr Bandwidth kNic{1e11};

  [[nodiscard]] Result<collective::LinkDemand> DemandOf(
      const workload::Communications::Row& communication,
      std::span<const network::GpuId> gpus) override {
    collective::LinkDemand demand{.algorithm = communication.kind == CollectiveKind::kSendRecv
                                                   ? collective::Algorithm::kDirect
                                                   : collective::Algorithm::kRing,
                                  .link = kLink,
                                  .nic = kNic};
    (IsInside(gpus) ? demand.link_share : demand.nic_share) = IsInside(gpus) ? 1 : 0.5;
    return demand;
  }
};

}  // namespace orrery::simulate
