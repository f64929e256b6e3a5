#include "orrery/workload/recorded/ranks/recorded_ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {
namespace {

using trace::MatchedCollectives;
using trace::Trace;

/// The kernels of a rank whose launches are in a step.
std::vector<RowId> KernelsOf(const Trace& trace, const CallTree& step) {
  std::vector<bool> is_in_step(trace.runtime_calls.size(), false);
  for (const ThreadCalls& thread : step.threads) {
    for (const Call& call : thread.calls) {
      if (call.kind == CallKind::kLaunch) {
        is_in_step[call.row] = true;
      }
    }
  }
  std::vector<RowId> kernels;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (const RowId launch = trace.activities.launch[row]; launch != kNoRow && is_in_step[launch]) {
      kernels.push_back(row);
    }
  }
  return kernels;
}

class RankJoiner {
 public:
  RankJoiner(const trace::TraceSet& set, const MatchedCollectives& matched, const HostChoice& host)
      : set_(set), matched_(matched), host_(host), num_found_(matched.size(), 0) {}

  Result<RecordedRanks> Join() {
    for (std::uint32_t place = 0; place < set_.ranks.size(); ++place) {
      ORRERY_TRY_STATUS(AddSteps(place));
    }
    for (std::uint32_t place = 0; place < set_.ranks.size(); ++place) {
      AddProgram(place);
    }
    UniteGroupRoles(result_.ensemble.programs);
    JoinGroups();
    FindTransfers();
    return std::move(result_);
  }

 private:
  // The first kernel of each instance that a rank has in its step.
  using KernelOfInstance = std::map<RowId, RowId>;

  [[nodiscard]] RowId InstanceOf(std::uint32_t place, RowId kernel) const {
    const RowId row = set_.ranks[place].activities.collective[kernel];
    return row == kNoRow ? kNoRow : matched_.ranks[place].instance_of_row[row];
  }

  Status AddSteps(std::uint32_t place) {
    const Trace& trace = set_.ranks[place];
    const std::int32_t rank = trace::RankOf(set_, place);
    if (trace.activities.empty() || trace.host_ops.empty()) {
      return Refuse("rank {} has no operators or no kernels to predict from", rank);
    }
    steps_.push_back(RecordedSteps(trace));
    if (steps_.back().size() != steps_.front().size()) {
      return Refuse("rank {} has {} steps, and rank {} has {}: there is no step to predict", rank,
                    steps_.back().size(), trace::RankOf(set_, 0), steps_.front().size());
    }
    KernelOfInstance& kernels = kernel_of_instance_.emplace_back();
    for (const RowId kernel : KernelsOf(trace, MiddleStep(steps_.back()))) {
      const RowId instance = InstanceOf(place, kernel);
      if (instance != kNoRow && kernels.emplace(instance, kernel).second) {
        ++num_found_[instance];
      }
    }
    return {};
  }

  /// All its members are in the step, and what it moves is known.
  [[nodiscard]] bool IsJoined(std::size_t instance) const {
    const CollectiveKind kind = matched_.instances.kind[instance];
    const std::uint32_t num_members = matched_.instances.num_members[instance];
    const bool is_message = kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
    return num_members >= 2 && num_found_[instance] == num_members &&
           kind != CollectiveKind::kUnknown && !(is_message && num_members != 2) &&
           !matched_.Has(instance, trace::match_flag::kUnreliable);
  }

  [[nodiscard]] TransferKind KindOf(std::size_t instance) const {
    const CollectiveKind kind = matched_.instances.kind[instance];
    return {.kind = kind == CollectiveKind::kSend ? CollectiveKind::kSendRecv : kind,
            .bytes = std::max<std::int64_t>(matched_.instances.bytes[instance], 0),
            .num_ranks = matched_.instances.num_members[instance]};
  }

  // Of groups with the same name, those with the same members; of messages one for each direction.
  [[nodiscard]] std::string RoleOf(std::size_t instance) const {
    std::vector<std::uint32_t> places;
    for (const std::uint32_t member : matched_.MembersOf(instance)) {
      places.push_back(matched_.members.rank_index[member]);
    }
    const bool is_message = KindOf(instance).kind == CollectiveKind::kSendRecv;
    return fmt::format("{} {}", matched_.groups[matched_.instances.group[instance]].key,
                       fmt::join(places, is_message ? ">" : ","));
  }

  void Complete(std::uint32_t place, RowId kernel, DeviceTask& task) {
    const RowId instance = InstanceOf(place, kernel);
    const bool is_collective = set_.ranks[place].activities.collective[kernel] != kNoRow;
    if (instance == kNoRow || !IsJoined(instance) ||
        kernel_of_instance_[place].at(instance) != kernel) {
      result_.num_as_recorded += is_collective ? 1 : 0;
      return;
    }
    const TransferKind kind = KindOf(instance);
    const std::uint32_t first = matched_.instances.first_member[instance];
    if (kind.kind == CollectiveKind::kSendRecv) {
      const bool is_sender = matched_.members.rank_index[first] == place;
      task.name = fmt::format("{} {}", is_sender ? "send" : "receive", task.name);
    }
    const DataType element = matched_.instances.data_type[instance];
    const std::string role = RoleOf(instance);
    task.duration_ps = 0;  // CommunicationTimes says how long it takes
    task.communication =
        RecordedCommunication{.role = role,
                              .dimension = role.substr(0, role.find(' ')),
                              .kind = kind.kind,
                              .bytes = kind.bytes,
                              .element = element == DataType::kUnknown ? DataType::kFp32 : element};
  }

  void AddProgram(std::uint32_t place) {
    const Trace& trace = set_.ranks[place];
    const CompleteTask complete = [&](RowId kernel, DeviceTask& task) {
      Complete(place, kernel, task);
    };
    result_.ensemble.programs.push_back(
        ProgramOfMiddleStep(trace, steps_[place], host_, complete).program);
    result_.ensemble.AddRank(place, place);
  }

  // A role has the ranks that communicate on it.
  void JoinGroups() {
    Ensemble& ensemble = result_.ensemble;
    std::map<std::uint32_t, std::vector<Rank>> members_of_role;
    for (Rank rank = 0; rank < ensemble.programs.size(); ++rank) {
      for (const std::uint32_t role : ensemble.programs[rank].communications.role) {
        std::vector<Rank>& members = members_of_role[role];
        if (members.empty() || members.back() != rank) {
          members.push_back(rank);
        }
      }
    }
    ensemble.SetRoles(static_cast<std::uint32_t>(ensemble.programs.front().roles.size()));
    for (const auto& [role, members] : members_of_role) {
      ensemble.AddGroup(members, role);
    }
  }

  // Of all steps: one alone may be an exception.
  void FindTransfers() {
    std::map<TransferKind, std::vector<double>> times;
    for (std::size_t instance = 0; instance < matched_.size(); ++instance) {
      if (!matched_.Has(instance, trace::match_flag::kUnreliable)) {
        times[KindOf(instance)].push_back(
            static_cast<double>(trace::MinDurationNs(matched_, instance)));
      }
    }
    for (const auto& [kind, all] : times) {
      result_.transfer_ns[kind] = static_cast<std::int64_t>(Median(all));
    }
  }

  const trace::TraceSet& set_;
  const MatchedCollectives& matched_;
  const HostChoice& host_;
  std::vector<std::uint32_t> num_found_;  // by instance: members that have it in their step
  std::vector<std::vector<CallTree>> steps_;
  std::vector<KernelOfInstance> kernel_of_instance_;
  RecordedRanks result_;
};

}  // namespace

Result<RecordedRanks> EnsembleOfRecordings(const trace::TraceSet& set,
                                           const MatchedCollectives& matched,
                                           const HostChoice& host) {
  if (set.ranks.empty()) {
    return Refuse("a job has at least one rank");
  }
  return RankJoiner(set, matched, host).Join();
}

}  // namespace orrery::workload
