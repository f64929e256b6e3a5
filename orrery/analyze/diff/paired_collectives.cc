#include "orrery/analyze/diff/paired_collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::diff {
namespace {

using trace::Trace;

/// When the collectives of a rank were launched: the host's steps tell to which one they belong,
/// also where the device is behind.
class LaunchTimes {
 public:
  explicit LaunchTimes(const Trace& trace)
      : trace_(trace), first_kernel_(trace.collectives.size(), kNoRow) {
    for (RowId row = 0; row < trace.activities.size(); ++row) {
      if (const RowId collective = trace.activities.collective[row];
          collective != kNoRow && first_kernel_[collective] == kNoRow) {
        first_kernel_[collective] = row;
      }
    }
  }

  [[nodiscard]] std::int64_t StepOf(RowId collective) const {
    const RowId kernel = first_kernel_[collective];
    const RowId call = kernel == kNoRow ? kNoRow : trace_.activities.launch[kernel];
    const std::int64_t time_ns = call == kNoRow ? trace_.collectives.begin_ns[collective]
                                                : trace_.runtime_calls.begin_ns[call];
    const auto after = std::ranges::upper_bound(trace_.steps.begin_ns, time_ns);
    return after - trace_.steps.begin_ns.begin() - 1;
  }

 private:
  const Trace& trace_;
  std::vector<RowId> first_kernel_;
};

class CollectiveList {
 public:
  explicit CollectiveList(const RunView& run) : run_(run), matched_(run.matched) {
    for (const Trace& trace : run.set->ranks) {
      launches_.emplace_back(trace);
    }
  }

  [[nodiscard]] std::vector<TimedCollective> Make() {
    for (std::size_t instance = 0; instance < matched_.size(); ++instance) {
      AddInstance(instance);
    }
    for (std::uint32_t rank = 0; rank < run_.set->ranks.size(); ++rank) {
      AddRowsAlone(rank);
    }
    std::ranges::stable_sort(list_, {}, &TimedCollective::begin_ns);
    return std::move(list_);
  }

 private:
  void AddInstance(std::size_t instance) {
    const std::uint32_t first = matched_.instances.first_member[instance];
    const bool is_pair = matched_.instances.kind[instance] == CollectiveKind::kSend;
    const std::uint32_t group = matched_.instances.group[instance];
    const std::int64_t group_size =
        group < matched_.groups.size() ? matched_.groups[group].num_ranks : -1;
    const std::int64_t num_members = matched_.instances.num_members[instance];
    TimedCollective collective{.kind = matched_.instances.kind[instance],
                               .bytes = matched_.instances.bytes[instance],
                               .num_ranks = is_pair || group_size < 0 ? num_members : group_size,
                               .rank_index = matched_.members.rank_index[first],
                               .row = matched_.members.collective[first],
                               .begin_ns = matched_.members.begin_ns[first],
                               .transfer_ns = run_.waits.transfer_ns[instance]};
    for (const std::uint32_t member : matched_.MembersOf(instance)) {
      collective.begin_ns = std::min(collective.begin_ns, matched_.members.begin_ns[member]);
      collective.wait_ns = std::max(collective.wait_ns, run_.waits.wait_ns[member]);
    }
    Add(collective);
  }

  // Of a rank whose peers were not recorded. Rows that one coalesced call served are one.
  void AddRowsAlone(std::uint32_t rank) {
    const Trace& trace = run_.set->ranks[rank];
    const trace::Collectives& rows = trace.collectives;
    const bool has_kernels = std::ranges::any_of(rows.num_kernels, [](int n) { return n > 0; });
    RowId previous = kNoRow;
    for (RowId row = 0; row < rows.size(); ++row) {
      const bool is_left_out = has_kernels && rows.num_kernels[row] == 0;
      if (matched_.ranks[rank].instance_of_row[row] != kNoRow || is_left_out) {
        continue;
      }
      const bool is_part = previous != kNoRow && AreServedTogether(rows, previous, row);
      previous = row;
      if (is_part) {
        continue;
      }
      Add({.kind = rows.kind[row],
           .bytes = trace::EventOfRow(trace, row).bytes,
           .num_ranks = rows.group[row] == kNoRow ? -1 : trace::GroupSize(trace, rows.group[row]),
           .rank_index = rank,
           .row = row,
           .begin_ns = rows.begin_ns[row],
           .transfer_ns = rows.duration_ns[row]});
    }
  }

  void Add(TimedCollective collective) {
    collective.rank = trace::RankOf(*run_.set, collective.rank_index);
    collective.step = launches_[collective.rank_index].StepOf(collective.row);
    list_.push_back(collective);
  }

  const RunView& run_;
  const trace::MatchedCollectives& matched_;
  std::vector<LaunchTimes> launches_;
  std::vector<TimedCollective> list_;
};

bool HasSteps(const RunView& run) {
  return std::ranges::any_of(run.set->ranks, [](const Trace& rank) { return !rank.steps.empty(); });
}

using Key = std::tuple<std::int64_t, CollectiveKind, std::int64_t, std::int64_t, std::int32_t>;

struct KeyParts {
  bool step = true;
  bool rank = true;
};

Key KeyOf(const TimedCollective& collective, KeyParts parts) {
  return {parts.step ? collective.step : 0, collective.kind, collective.bytes, collective.num_ranks,
          parts.rank ? collective.rank : -1};
}

/// Finds partners for those that have none yet.
class Pairing {
 public:
  explicit Pairing(PairedCollectives& paired)
      : paired_(paired),
        is_paired_before_(paired.before.size(), false),
        is_paired_after_(paired.after.size(), false) {}

  void Pair(KeyParts parts) {
    std::map<Key, std::vector<std::uint32_t>> waiting;  // in order of begin, the last one first
    for (auto i = static_cast<std::uint32_t>(paired_.before.size()); i > 0; --i) {
      if (!is_paired_before_[i - 1]) {
        waiting[KeyOf(paired_.before[i - 1], parts)].push_back(i - 1);
      }
    }
    for (std::uint32_t i = 0; i < paired_.after.size(); ++i) {
      const auto found =
          is_paired_after_[i] ? waiting.end() : waiting.find(KeyOf(paired_.after[i], parts));
      if (found == waiting.end() || found->second.empty()) {
        continue;
      }
      const std::uint32_t partner = found->second.back();
      found->second.pop_back();
      is_paired_before_[partner] = true;
      is_paired_after_[i] = true;
      paired_.pairs.push_back({partner, i});
    }
  }

 private:
  PairedCollectives& paired_;
  std::vector<bool> is_paired_before_;
  std::vector<bool> is_paired_after_;
};

}  // namespace

PairedCollectives PairCollectives(const RunView& before, const RunView& after) {
  PairedCollectives paired{.before = CollectiveList(before).Make(),
                           .after = CollectiveList(after).Make()};
  const bool has_steps = HasSteps(before) && HasSteps(after);
  Pairing pairing(paired);
  pairing.Pair({.step = has_steps, .rank = true});
  pairing.Pair({.step = has_steps, .rank = false});
  std::ranges::sort(paired.pairs, {}, &CollectivePair::before);
  return paired;
}

std::string NothingInCommonSentence(const std::string& before, const std::string& after) {
  return fmt::format("no collective of {} has a partner in {}: aligned by steps only", after,
                     before);
}

}  // namespace orrery::analyze::diff
