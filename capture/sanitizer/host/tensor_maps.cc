#include "capture/sanitizer/host/tensor_maps.h"

#include <algorithm>

namespace orrery::capture::sanitizer {
namespace {

TensorMaps::Key KeyOf(std::span<const std::byte> bytes) {
  TensorMaps::Key key{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), key.size()), key.begin());
  return key;
}

}  // namespace

TensorMaps::Added TensorMaps::Add(const TensorMapEvent& event) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] =
      maps_.try_emplace(KeyOf(event.map), Known{maps_.size() + 1, event.address});
  num_maps_.store(maps_.size(), std::memory_order_release);
  return {known->second.id, is_new};
}

std::optional<TensorMaps::Known> TensorMaps::Find(std::span<const std::byte> bytes) const {
  if (bytes.size() < kTensorMapBytes) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto found = maps_.find(KeyOf(bytes));
  return found == maps_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace orrery::capture::sanitizer
