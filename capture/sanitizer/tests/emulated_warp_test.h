#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <thread>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/see_access.h"
#include "capture/sanitizer/device/warp.h"

namespace orrery::capture {

/// The state of a warp at a patched instruction. Addresses of lanes that are not active are never
/// read.
struct WarpState {
  std::array<std::uint64_t, kNumLanes> addresses{};
  std::uint32_t active = 0xffffffffU;
  std::uint32_t multiprocessor = 0;
  Indices block{0, 0, 0};
  Indices grid{1, 1, 1};
  Indices thread{0, 0, 0};  // of the lowest active lane
  Indices block_size{1, 1, 1};
};

/// Runs the body of a patch on the host: one thread that loops over the lanes of a warp.
class EmulatedWarp {
 public:
  explicit EmulatedWarp(const WarpState& state) : state_(&state) {}

  [[nodiscard]] std::uint32_t active() const { return state_->active; }

  [[nodiscard]] std::uint64_t AddressOf(std::uint32_t lane) const {
    return state_->addresses[lane];
  }

  [[nodiscard]] std::uint32_t RankOf(std::uint32_t lane) const {
    return Count(active() & ((1U << lane) - 1));
  }

  template <typename F>
  [[nodiscard]] std::uint32_t Vote(F f) const {
    std::uint32_t votes = 0;
    ForLanes([&](std::uint32_t lane, std::uint64_t address) {
      votes |= static_cast<std::uint32_t>(f(lane, address)) << lane;
    });
    return votes;
  }

  template <typename F>
  void ForLanes(F f) const {
    for (std::uint32_t rest = active(); rest != 0; rest &= rest - 1) {
      f(Lowest(rest), state_->addresses[Lowest(rest)]);
    }
  }

  template <typename F>
  void Once(F f) const {
    f();
  }

  template <typename F>
  void ForJobs(std::uint32_t num_jobs, F f) const {
    for (std::uint32_t job = 0; job < num_jobs; ++job) {
      f(job);
    }
  }

  [[nodiscard]] LaneSteps Steps(std::uint32_t shift) const {
    LaneSteps steps{1U << Lowest(active()), 0};
    std::uint64_t before = AddressOf(Lowest(active())) >> shift;
    ForLanes([&](std::uint32_t lane, std::uint64_t address) {
      const std::uint64_t own = address >> shift;
      steps.changes |= static_cast<std::uint32_t>(own != before) << lane;
      steps.descents |= static_cast<std::uint32_t>(own < before) << lane;
      before = own;
    });
    return steps;
  }

  [[nodiscard]] std::uint32_t FirstOfEach(std::uint32_t shift) const {
    std::uint32_t first = 0;
    std::uint32_t seen = 0;
    ForLanes([&](std::uint32_t lane, std::uint64_t address) {
      const std::uint32_t alike = Vote(
          [&](std::uint32_t, std::uint64_t other) { return other >> shift == address >> shift; });
      first |= static_cast<std::uint32_t>((alike & seen) == 0) << lane;
      seen |= 1U << lane;
    });
    return first;
  }

  [[nodiscard]] std::uint64_t FromOne(std::uint64_t value) const { return value; }

  void Join() const {}

  [[nodiscard]] std::uint32_t multiprocessor() const { return state_->multiprocessor; }

  [[nodiscard]] Indices block() const { return state_->block; }

  [[nodiscard]] Indices grid() const { return state_->grid; }

  [[nodiscard]] Indices thread() const { return state_->thread; }

  [[nodiscard]] Indices block_size() const { return state_->block_size; }

  [[nodiscard]] static std::uint32_t Count(std::uint32_t mask) {
    return static_cast<std::uint32_t>(std::popcount(mask));
  }

  [[nodiscard]] static std::uint32_t Lowest(std::uint32_t mask) {
    return static_cast<std::uint32_t>(std::countr_zero(mask));
  }

  [[nodiscard]] static std::uint32_t Highest(std::uint32_t mask) {
    return static_cast<std::uint32_t>(31 - std::countl_zero(mask));
  }

  // Several emulated kernels may run at once.

  template <typename T>
  [[nodiscard]] static T Load(const T* place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
  }

  [[nodiscard]] static std::uint64_t LoadFromHost(const volatile std::uint64_t* place) {
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
  }

  static void Add(std::uint64_t* place, std::uint64_t value) {
    __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
  }

  template <typename T>
  static T FetchAdd(T* place, std::uint32_t value) {
    return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
  }

  static void Max(std::uint64_t* place, std::uint64_t value) {
    std::uint64_t before = Load(place);
    while (before < value && !__atomic_compare_exchange_n(place, &before, value, true,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
  }

  static void Or(std::uint32_t* place, std::uint32_t bits) {
    __atomic_fetch_or(place, bits, __ATOMIC_RELAXED);
  }

  static void FenceForHost() {}

  static void StoreForHost(std::uint64_t* place, std::uint64_t value) {
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
  }

  static void Pause() { std::this_thread::yield(); }

 private:
  const WarpState* state_;
};

/// Does the work of the patch for global memory accesses.
inline void EmulateGlobalAccess(LaunchRecord& record, const WarpState& state, Access access) {
  if (state.active != 0) {
    SeeAccess(EmulatedWarp(state), record, access);
  }
}

/// Does the work of the patch for asynchronous copies: lanes without a source only fill with zeros.
inline void EmulateMemcpyAsync(LaunchRecord& record, WarpState state, std::uint64_t pc,
                               std::uint32_t bytes) {
  state.active =
      EmulatedWarp(state).Vote([](std::uint32_t, std::uint64_t address) { return address != 0; });
  EmulateGlobalAccess(record, state, {pc, bytes, kReadFlag});
}

/// Does the work of the patches for bulk copies, with the same values in all active lanes of the
/// warp.
inline void EmulateBulkCopy(LaunchRecord& record, const WarpState& state, BulkCopy copy) {
  if (state.active != 0) {
    SeeBulk(EmulatedWarp(state), record, copy);
  }
}

}  // namespace orrery::capture
