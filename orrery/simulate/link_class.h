#pragma once

#include <cstdint>
#include <span>

#include "orrery/network/topology.h"

namespace orrery::simulate {

/// Classifies the placement of groups by the cost of their communication.
class LinkClass {
 public:
  virtual ~LinkClass() = default;

  /// Returns a number that two groups share only if every communication takes the same time in
  /// both. Members are in the order of the group.
  [[nodiscard]] virtual std::uint64_t Of(std::span<const network::GpuId> gpus) const = 0;
};

/// Groups are alike when they have as many members on each island, islands in the order in which
/// the group meets them. An island is `gpus_per_island` GPUs that follow each other.
class IslandLinkClass : public LinkClass {
 public:
  explicit IslandLinkClass(std::uint32_t gpus_per_island);

  [[nodiscard]] std::uint64_t Of(std::span<const network::GpuId> gpus) const override;

 private:
  [[nodiscard]] std::uint64_t OfUnordered(std::span<const network::GpuId> gpus) const;

  std::uint32_t gpus_per_island_;
};

}  // namespace orrery::simulate
