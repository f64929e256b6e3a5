#include "orrery/kernel/estimate.h"

#include <array>
#include <climits>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

std::string_view EstimateSourceName(EstimateSource source) {
  constexpr std::array<std::string_view, 4> kNames = {"this GPU", "sibling GPU", "all GPUs",
                                                      "roofline"};
  return kNames.at(static_cast<std::size_t>(source));
}

// The upper bits select the shard, the lower ones the slot in it.
MemoizedCostModel::Shard& MemoizedCostModel::ShardOf(std::size_t hash) const {
  constexpr std::size_t kShardBits = 6;
  static_assert(kNumShards == std::size_t{1} << kShardBits);
  return shards_[hash >> (sizeof(hash) * CHAR_BIT - kShardBits)];
}

bool MemoizedCostModel::Recall(const Operator& op, Estimate& estimate) const {
  const std::size_t hash = OperatorHash()(op);
  const Shard& shard = ShardOf(hash);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.estimates.find(op, hash);
  if (found == shard.estimates.end()) {
    return false;
  }
  estimate = found->second;
  return true;
}

// Predicts each distinct operator once, so that the first pass over a graph costs no more than its
// distinct operators.
void MemoizedCostModel::Learn(std::span<const Operator> operators,
                              std::span<const std::size_t> places,
                              std::span<Estimate> estimates) const {
  tsl::robin_map<Operator, std::size_t, OperatorHash> index_of;
  std::vector<Operator> distinct;
  for (const std::size_t place : places) {
    if (index_of.try_emplace(operators[place], distinct.size()).second) {
      distinct.push_back(operators[place]);
    }
  }
  std::vector<Estimate> answers(distinct.size());
  costs_.Predict(distinct, gpu_, answers);
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    Shard& shard = ShardOf(OperatorHash()(distinct[i]));
    const std::lock_guard lock(shard.mutex);
    shard.estimates.try_emplace(distinct[i], answers[i]);
  }
  for (const std::size_t place : places) {
    estimates[place] = answers[index_of.at(operators[place])];
  }
}

void MemoizedCostModel::Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                                std::span<Estimate> estimates) const {
  if (gpu.name != gpu_.name) {
    costs_.Predict(operators, gpu, estimates);
    return;
  }
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (!Recall(operators[i], estimates[i])) {
      unknown.push_back(i);
    }
  }
  if (!unknown.empty()) {
    Learn(operators, unknown, estimates);
  }
}

std::size_t MemoizedCostModel::size() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum += shard.estimates.size();
  }
  return sum;
}

void GpuMemo::Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                      std::span<Estimate> estimates) const {
  const Entry& entry = EntryOf(gpu);
  // The memo answers for the very object that it was made for.
  entry.memo->Predict(operators, entry.gpu, estimates);
}

const GpuMemo::Entry& GpuMemo::EntryOf(const hardware::Gpu& gpu) const {
  const std::scoped_lock lock(mutex_);
  // Jobs may give a GPU of the catalogue another power limit or memory.
  std::unique_ptr<Entry>& entry = entry_of_gpu_[fmt::format(
      "{}, {} W, {} B", gpu.name, gpu.power_watts, gpu.memory_size.count)];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>();
    entry->gpu = gpu;
    entry->memo = std::make_unique<MemoizedCostModel>(costs_, entry->gpu);
  }
  return *entry;
}

}  // namespace orrery::kernel
