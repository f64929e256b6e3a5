#include "orrery/simulate/network/link_sharing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/network/congestion.h"
#include "orrery/network/fair_filling.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

using network::FlowRow;

std::size_t LinkSharing::Hash::operator()(const Key& key) const {
  const std::uint64_t kind = static_cast<std::uint64_t>(key.kind) << 8;
  return MixBits(MixBits(key.group + 1) ^
                 (static_cast<std::uint64_t>(key.bytes) * 0x9e3779b97f4a7c15) ^ kind ^
                 static_cast<std::uint64_t>(key.element));
}

LinkSharing::LinkSharing(LinkUsage& usage, const network::CongestionModel* congestion)
    : usage_(usage),
      table_(static_cast<std::uint32_t>(usage.Capacities().size()), congestion != nullptr),
      filling_(table_, usage.Capacities(), congestion, usage.LosesGoodput()) {
  if (congestion != nullptr && congestion->pauses) {
    pauses_.emplace(table_, usage.Capacities());
  }
}

Result<std::uint32_t> LinkSharing::PoolOf(GroupClassId group,
                                          const workload::Communications::Row& row) {
  const Key key{group, row.kind, row.element, row.bytes};
  if (const auto known = pool_of_key_.find(key); known != pool_of_key_.end()) {
    return known->second;
  }
  ORRERY_TRY(TransferUses uses, usage_.UsesOf(group, row));
  const auto pool = static_cast<std::uint32_t>(pools_.size());
  pools_.push_back({.uses = std::move(uses), .free = {}});
  pool_of_key_.emplace(key, pool);
  return pool;
}

Result<FlowRow> LinkSharing::Begin(GroupClassId group, const workload::Communications::Row& row) {
  ORRERY_TRY(const std::uint32_t number, PoolOf(group, row));
  return TakeRow(number);
}

FlowRow LinkSharing::Begin(const TransferUses& uses) {
  pools_.push_back({.uses = uses, .free = {}});
  return TakeRow(static_cast<std::uint32_t>(pools_.size() - 1));
}

FlowRow LinkSharing::TakeRow(std::uint32_t number) {
  Pool& pool = pools_[number];
  if (pool.free.empty()) {
    // Speeds are compared in bytes, whatever part of a transfer they are.
    const double weight = pool.uses.bytes_per_second > 0 ? 1 / pool.uses.bytes_per_second : 1;
    pool.free.push_back(
        table_.Append(pool.uses.links, {.weight = weight, .cap_bytes_per_second = 1}));
    pool_of_flow_.push_back(number);
    if (pauses_) {
      pauses_->SetPairs(pool.free.back(), pool.uses.pairs);
    }
  }
  const FlowRow flow = pool.free.back();
  pool.free.pop_back();
  table_.flow(flow).cap_level = 1 / table_.flow(flow).weight;
  table_.flow(flow).level = 0;
  table_.PutOnLinks(flow);
  filling_.FlowAdded(flow);
  return flow;
}

void LinkSharing::SetCap(FlowRow flow, double share) {
  const double level = share / table_.flow(flow).weight;
  if (table_.flow(flow).cap_level == level) {
    return;
  }
  table_.flow(flow).cap_level = level;
  filling_.FlowRemoved(flow);  // others may have what it gives up
  filling_.FlowAdded(flow);
}

void LinkSharing::End(FlowRow flow) {
  table_.TakeOffLinks(flow);
  filling_.FlowRemoved(flow);
  pools_[pool_of_flow_[flow]].free.push_back(flow);
}

std::span<const network::FairFilling::Filled> LinkSharing::Refill() {
  if (!filling_.is_stale()) {
    return {};
  }
  const std::span<const network::FairFilling::Filled> filled = filling_.Refill();
  return pauses_ ? pauses_->Refresh() : filled;
}

double LinkSharing::SpeedOf(FlowRow flow) const {
  const network::TableFlow& row = table_.flow(flow);
  return (pauses_ ? pauses_->LevelOf(flow) : std::min(row.level, row.cap_level)) * row.weight;
}

}  // namespace orrery::simulate
