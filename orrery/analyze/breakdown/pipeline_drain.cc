#include "orrery/analyze/breakdown/pipeline_drain.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

constexpr std::int64_t kNoPassNs = std::numeric_limits<std::int64_t>::min();

// Ranks joined by pairs of send and receive: a forest of rank indices.
class RankGroups {
 public:
  explicit RankGroups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  std::uint32_t Find(std::uint32_t rank) {
    while (parent_[rank] != rank) {
      rank = parent_[rank] = parent_[parent_[rank]];
    }
    return rank;
  }

  void Join(std::uint32_t a, std::uint32_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

/// A collective of several stages of a pipeline.
struct Meeting {
  std::int64_t arrived_ns = 0;  // the last of all members
  std::uint32_t member = 0;     // MatchedCollectives::members
  std::size_t instance = 0;
};

// By pipeline, the members of an instance that belong to it, where they are several.
std::map<std::uint32_t, std::vector<std::uint32_t>> StagesOf(
    const RunView& run, const std::vector<std::uint32_t>& pipelines, std::size_t instance) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> stages;
  for (const std::uint32_t member : run.matched.MembersOf(instance)) {
    stages[pipelines[run.matched.members.rank_index[member]]].push_back(member);
  }
  std::erase_if(stages, [](const auto& of) { return of.second.size() < 2; });
  return stages;
}

bool IsPass(trace::KernelClass kernel_class) {
  return kernel_class != trace::KernelClass::kCommunication &&
         kernel_class != trace::KernelClass::kMemory &&
         kernel_class != trace::KernelClass::kOptimizer;
}

std::vector<std::int64_t> PassEnds(const RunView& run, std::uint32_t rank_index) {
  const trace::Activities& activities = run.set->ranks[rank_index].activities;
  std::vector<std::int64_t> ends_ns;
  for (RowId row = 0; row < activities.size(); ++row) {
    if (IsPass(run.classes[rank_index][row]) && activities.duration_ns[row] > 0) {
      ends_ns.push_back(activities.begin_ns[row] + activities.duration_ns[row]);
    }
  }
  std::ranges::sort(ends_ns);
  return ends_ns;
}

// The last end from the one time, exclusive, to the other.
std::int64_t LastPassNs(const std::vector<std::int64_t>& ends_ns, std::int64_t after_ns,
                        std::int64_t until_ns) {
  const auto next = std::ranges::upper_bound(ends_ns, until_ns);
  return next == ends_ns.begin() || *(next - 1) <= after_ns ? kNoPassNs : *(next - 1);
}

class DrainMeasurement {
 public:
  DrainMeasurement(const RunView& run, std::vector<std::uint32_t> pipelines)
      : run_(run),
        pipelines_(std::move(pipelines)),
        meetings_(run.set->ranks.size()),
        pass_ends_(run.set->ranks.size()) {}

  std::vector<std::int64_t> Measure() && {
    const std::size_t ranks = meetings_.size();
    for (std::size_t instance = 0; instance < run_.matched.size(); ++instance) {
      AddMeetings(instance);
    }
    ParallelFor(ranks, run_.options.threads, [&](std::size_t rank) {
      const std::uint32_t pipeline = pipelines_[rank];
      if (std::ranges::count(pipelines_, pipeline) > 1) {
        pass_ends_[rank] = PassEnds(run_, static_cast<std::uint32_t>(rank));
      }
    });
    drain_ns_.assign(run_.matched.members.size(), 0);
    for (std::vector<Meeting>& meetings : meetings_) {
      std::ranges::stable_sort(meetings, {}, &Meeting::arrived_ns);
      std::int64_t before_ns = kNoPassNs;
      for (const Meeting& meeting : meetings) {
        MeasureMeeting(meeting, std::exchange(before_ns, meeting.arrived_ns));
      }
    }
    return std::move(drain_ns_);
  }

 private:
  void AddMeetings(std::size_t instance) {
    const CollectiveKind kind = run_.matched.instances.kind[instance];
    if (run_.waits.is_reliable[instance] == 0 || kind == CollectiveKind::kSend ||
        kind == CollectiveKind::kSendRecv) {
      return;
    }
    for (const auto& [pipeline, members] : StagesOf(run_, pipelines_, instance)) {
      for (const std::uint32_t member : members) {
        meetings_[run_.matched.members.rank_index[member]].push_back(
            {run_.waits.last_arrival_ns[instance], member, instance});
      }
    }
  }

  void MeasureMeeting(const Meeting& meeting, std::int64_t before_ns) {
    const auto& rank_of = run_.matched.members.rank_index;
    const std::uint32_t rank = rank_of[meeting.member];
    const auto last_ns = [&](std::uint32_t of_rank) {
      return LastPassNs(pass_ends_[of_rank], before_ns, meeting.arrived_ns);
    };
    const std::int64_t own_ns = last_ns(rank);
    if (own_ns == kNoPassNs) {
      return;
    }
    std::int64_t& drain_ns = drain_ns_[meeting.member];
    for (const std::uint32_t member : run_.matched.MembersOf(meeting.instance)) {
      const std::int64_t last =
          pipelines_[rank_of[member]] == pipelines_[rank] ? last_ns(rank_of[member]) : kNoPassNs;
      drain_ns = last == kNoPassNs ? drain_ns : std::max(drain_ns, last - own_ns);
    }
    drain_ns = std::min(drain_ns, run_.waits.wait_ns[meeting.member]);
  }

  const RunView& run_;
  std::vector<std::uint32_t> pipelines_;
  std::vector<std::vector<Meeting>> meetings_;        // of each rank
  std::vector<std::vector<std::int64_t>> pass_ends_;  // of each rank
  std::vector<std::int64_t> drain_ns_;
};

}  // namespace

std::vector<std::uint32_t> PipelinesOf(const RunView& run) {
  const auto& matched = run.matched;
  RankGroups groups(run.set->ranks.size());
  std::map<std::uint32_t, std::vector<DimensionOf>> dimensions;  // of ranks that send
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    if (matched.instances.kind[instance] != CollectiveKind::kSend ||
        matched.instances.num_members[instance] != 2) {
      continue;
    }
    const std::uint32_t first = matched.instances.first_member[instance];
    const std::uint32_t sender = matched.members.rank_index[first];
    if (!dimensions.contains(sender)) {
      dimensions[sender] = CollectiveDimensions(run, sender);
    }
    if (dimensions[sender][matched.members.collective[first]].dimension == Dimension::kPipeline) {
      groups.Join(sender, matched.members.rank_index[first + 1]);
    }
  }
  std::vector<std::uint32_t> pipelines;
  for (std::uint32_t rank = 0; rank < run.set->ranks.size(); ++rank) {
    pipelines.push_back(groups.Find(rank));
  }
  return pipelines;
}

std::vector<std::int64_t> DrainWaits(const RunView& run) {
  std::vector<std::uint32_t> pipelines = PipelinesOf(run);
  bool has_pipeline = false;
  for (std::uint32_t rank = 0; rank < pipelines.size(); ++rank) {
    has_pipeline = has_pipeline || pipelines[rank] != rank;
  }
  return has_pipeline ? DrainMeasurement(run, std::move(pipelines)).Measure()
                      : std::vector<std::int64_t>{};
}

}  // namespace orrery::analyze
