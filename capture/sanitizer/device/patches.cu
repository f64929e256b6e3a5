#include <cstdint>
#include <type_traits>

#include "capture/sanitizer/device/device_warp.cuh"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/patch_list.h"
#include "capture/sanitizer/device/see_access.h"

// The functions that are called before instructions of patched kernels, with the launch's record as
// user data. A launch that is not looked at has none. They never end a warp.

using namespace orrery::capture;  // NOLINT: the functions below have C names

// As the vendor's: 0 goes on, anything else ends the warp.
using PatchResult = int;

#define ORRERY_PATCH extern "C" __device__ __noinline__ PatchResult

namespace {

__device__ __forceinline__ std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

/// The record is in global memory, which makes its loads shorter.
__device__ __forceinline__ LaunchRecord& RecordAt(void* user_data) {
  __builtin_assume(__isGlobal(user_data));
  return *static_cast<LaunchRecord*>(user_data);
}

__device__ __forceinline__ PatchResult SeeBulkCopy(void* user_data, BulkCopy copy) {
  if (user_data != nullptr) {
    DeviceWarp warp(__activemask(), copy.address);
    SeeBulk(warp, RecordAt(user_data), copy);
  }
  return 0;
}

}  // namespace

ORRERY_PATCH OrreryGlobalAccess(void* user_data, std::uint64_t pc, void* address,
                                std::uint32_t bytes, std::uint32_t flags, const void* /*data*/) {
  if (user_data != nullptr) {
    DeviceWarp warp(__activemask(), AddressOf(address));
    SeeAccess(warp, RecordAt(user_data), {pc, bytes, flags});
  }
  return 0;
}

/// Lanes without a source only fill with zeros.
ORRERY_PATCH OrreryMemcpyAsync(void* user_data, std::uint64_t pc, void* source,
                               std::uint32_t /*destination*/, std::uint32_t bytes) {
  const std::uint32_t reading = __ballot_sync(__activemask(), source != nullptr);
  if (user_data != nullptr && source != nullptr) {
    DeviceWarp warp(reading, AddressOf(source));
    SeeAccess(warp, RecordAt(user_data), {pc, bytes, kReadFlag});
  }
  return 0;
}

/// The low half of `size` is the number of blocks, the high half names the blocks of a cluster that
/// the data goes to: it is read once for all.
ORRERY_PATCH OrreryBulkRead(void* user_data, std::uint64_t pc, std::uint64_t source,
                            std::uint32_t /*destination*/, std::uint32_t /*barrier*/,
                            std::uint32_t size, std::uint32_t /*is_multicast*/) {
  return SeeBulkCopy(user_data, {pc, source, size & 0xffffU, kReadFlag});
}

ORRERY_PATCH OrreryBulkWrite(void* user_data, std::uint64_t pc, std::uint64_t destination,
                             std::uint32_t /*source*/, std::uint32_t num_blocks) {
  return SeeBulkCopy(user_data, {pc, destination, num_blocks, kWriteFlag});
}

ORRERY_PATCH OrreryBulkReduction(void* user_data, std::uint64_t pc, std::uint64_t destination,
                                 std::uint32_t /*source*/, std::uint32_t num_blocks) {
  return SeeBulkCopy(user_data, {pc, destination, num_blocks, kReadFlag | kWriteFlag});
}

ORRERY_PATCH OrreryEmptyGlobalAccess(void*, std::uint64_t, void*, std::uint32_t, std::uint32_t,
                                     const void*) {
  return 0;
}

ORRERY_PATCH OrreryEmptyMemcpyAsync(void*, std::uint64_t, void*, std::uint32_t, std::uint32_t) {
  return 0;
}

ORRERY_PATCH OrreryEmptyBulkRead(void*, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t,
                                 std::uint32_t, std::uint32_t) {
  return 0;
}

ORRERY_PATCH OrreryEmptyBulkWrite(void*, std::uint64_t, std::uint64_t, std::uint32_t,
                                  std::uint32_t) {
  return 0;
}

ORRERY_PATCH OrreryEmptyBulkReduction(void*, std::uint64_t, std::uint64_t, std::uint32_t,
                                      std::uint32_t) {
  return 0;
}

// Every name of the list is a function of this image.
#define ORRERY_CHECK_PATCH(instruction, patch, empty) \
  static_assert(std::is_same_v<decltype(patch), decltype(empty)>);
ORRERY_PATCHES(ORRERY_CHECK_PATCH)
