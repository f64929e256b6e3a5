#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "capture/sanitizer/host/object_table.h"
#include "capture/sanitizer/host/vendor.h"

// The memory that a launch can reach by its arguments: the words of its parameter block that lie
// inside known memory. For kernels that load through tensor maps nothing more is known, since no
// patch sees those loads.

namespace orrery::capture::sanitizer {

/// The tensor maps that the program made, known by their 128 bytes: equal bytes are an equal map,
/// so that making one again or copying it does no harm. Any thread may call.
class TensorMaps {
 public:
  using Key = std::array<std::byte, kTensorMapBytes>;

  struct Known {
    std::uint64_t id = 0;
    std::uint64_t address = 0;
  };

  /// The map's number, and whether it is new.
  struct Added {
    std::uint64_t id = 0;
    bool is_new = false;
  };

  [[nodiscard]] Added Add(const TensorMapEvent& event);

  /// Returns the known properties of the map in these bytes.
  [[nodiscard]] std::optional<Known> Find(std::span<const std::byte> bytes) const;

  /// Without a lock: most programs make none.
  [[nodiscard]] bool empty() const { return num_maps_.load(std::memory_order_acquire) == 0; }

 private:
  mutable std::mutex mutex_;  // guards maps_
  std::map<Key, Known> maps_;
  std::atomic<std::uint64_t> num_maps_{0};
};

/// Memory that a launch was given: a range of the snapshot, and where its address stands among the
/// parameters.
struct Argument {
  std::uint32_t range = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  // in the parameter block
  std::uint64_t map = 0;     // of a tensor map at that place; 0: a plain word
};

/// A copy of a launch's parameters, made before the launch; its own callback has none.
struct ParameterBlock {
  FunctionHandle function;
  std::vector<std::byte> bytes;
};

/// Copies parameters out of a call. Asks for each function's layout once. Any thread may call.
class ParameterReader {
 public:
  explicit ParameterReader(VendorCalls& calls) : calls_(calls) {}

  /// Fills `block`; empty where the layout cannot be known.
  void Read(const LaunchCall& call, ParameterBlock& block);

  /// Functions are gone; their handles may come again for others.
  void ForgetAll();

 private:
  using Layout = std::vector<ParameterPlace>;

  [[nodiscard]] std::shared_ptr<const Layout> LayoutOf(FunctionHandle function);

  VendorCalls& calls_;
  std::mutex mutex_;  // guards layouts_
  std::map<FunctionHandle, std::shared_ptr<const Layout>> layouts_;
};

/// Finds the arguments in a block at steps of 8 bytes, at most one for each range and map, in order
/// of their places.
[[nodiscard]] std::vector<Argument> FindArguments(std::span<const std::byte> block,
                                                  const ObjectSnapshot& objects,
                                                  const TensorMaps& maps);

}  // namespace orrery::capture::sanitizer
