#include "orrery/simulate/engine/pending_collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Communications;
using workload::TaskId;

constexpr std::size_t kMostNamed = 4;

std::string Described(const RankClasses& rank_classes, RankClassId rank_class, TaskId task) {
  const workload::Program& program = rank_classes.ProgramOf(rank_class);
  return fmt::format("task {} ({}) of rank {}", task,
                     program.strings.View(program.tasks.name[task]),
                     rank_classes.classes[rank_class].rank);
}

std::string Described(const Communications::Row& row) {
  return fmt::format("{} of {} bytes of {}", CollectiveKindName(row.kind), row.bytes,
                     DataTypeName(row.element));
}

bool IsSame(const Communications::Row& lhs, const Communications::Row& rhs) {
  const bool may_differ = lhs.kind == CollectiveKind::kAllToAll;
  return lhs.kind == rhs.kind && lhs.element == rhs.element &&
         (may_differ || lhs.bytes == rhs.bytes);
}

Error Mismatch(const PendingCollective& pending, const Arrival& arrival,
               const Communications::Row& row) {
  return {Error::Kind::kInvalidInput,
          fmt::format("members of a group communicate differently: {} does {}, {} does {}",
                      Described(*arrival.rank_classes, pending.rank_class, pending.task),
                      Described(pending.row),
                      Described(*arrival.rank_classes, arrival.rank_class, arrival.task),
                      Described(row))};
}

}  // namespace

std::size_t TransferTimes::Hash::operator()(const Key& key) const {
  const std::uint64_t what =
      static_cast<std::uint64_t>(key.kind) * 64 + static_cast<std::uint64_t>(key.element);
  return MixBits(MixBits(key.link_class + what) + static_cast<std::uint64_t>(key.bytes));
}

Result<TransferCost> TransferTimes::CostOf(GroupClassId group,
                                           const workload::Communications::Row& row) {
  const Key key{rank_classes_.groups[group].link_class, row.bytes, row.kind, row.element};
  if (const auto known = known_.find(key); known != known_.end()) {
    return known->second;
  }
  const std::vector<network::GpuId> gpus = rank_classes_.GpusOf(group);
  TransferCost cost;
  ORRERY_TRY(cost.duration_ps, times_.DurationPs(row, gpus));
  cost.duration_ps = std::min(cost.duration_ps, 2 * kLongestPs);  // too long, and no overflow
  if (wants_sides_ && cost.duration_ps > 0) {
    ORRERY_TRY(const CommunicationTask task, times_.KernelOf(row, gpus));
    cost.side = CodeOf(task);
  }
  known_.emplace(key, cost);
  return cost;
}

Result<PendingCollective*> PendingCollectives::Join(const Arrival& arrival) {
  OpenTurns& open = open_of_group_[arrival.group];
  const std::size_t place = arrival.turn - open.first;
  if (place >= open.pending.size()) {
    open.pending.resize(place + 1);
  }
  PendingCollective& pending = open.pending[place];
  const workload::Program& program = arrival.rank_classes->ProgramOf(arrival.rank_class);
  const Communications::Row row =
      program.communications.At(program.tasks.communication[arrival.task]);
  if (pending.num_arrived == 0) {
    pending.rank_class = arrival.rank_class;
    pending.task = arrival.task;
    pending.row = row;
  } else if (!IsSame(pending.row, row)) {
    return tl::unexpected(Mismatch(pending, arrival, row));
  }
  pending.row.bytes = std::max(pending.row.bytes, row.bytes);
  pending.latest_ps = std::max(pending.latest_ps, arrival.begin_ps);
  ++pending.num_arrived;
  return &pending;
}

PendingCollective PendingCollectives::Take(GroupClassId group, std::uint64_t turn) {
  OpenTurns& open = open_of_group_[group];
  PendingCollective taken = open.pending[turn - open.first];
  open.pending[turn - open.first].is_taken = true;
  std::size_t done = 0;
  while (done < open.pending.size() && open.pending[done].is_taken) {
    ++done;
  }
  open.pending.erase(open.pending.begin(),
                     open.pending.begin() + static_cast<std::ptrdiff_t>(done));
  open.first += done;
  return taken;
}

Error NeverEnds(const RankClasses& rank_classes, std::span<const StuckTask> stuck) {
  std::string text = "tasks wait for each other and none can go on: ";
  for (std::size_t i = 0; i < std::min(stuck.size(), kMostNamed); ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ",
                        Described(rank_classes, stuck[i].rank_class, stuck[i].task),
                        stuck[i].has_begun ? ", which waits for its group" : "");
  }
  return {Error::Kind::kInvalidInput, text};
}

}  // namespace orrery::simulate
