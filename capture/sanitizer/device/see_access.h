#pragma once

#include <cstdint>

#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/device/warp_access.h"
#include "capture/sanitizer/device/warp_stream.h"

// The body of the patches: what a launch wants to be seen of an access. At least one lane is
// active.

namespace orrery::capture {

template <Warp W>
ORRERY_HOST_DEVICE bool IsInTakenBlock(W warp, const LaunchRecord& record) {
  return record.block_period <= 1 || TakesBlock(record, LinearNumber(warp.block(), warp.grid()));
}

/// Does all that the launch wants, in any case.
template <Warp W>
ORRERY_ASIDE void SeeAnyAccess(W warp, LaunchRecord& record, Access access) {
  if (!IsInTakenBlock(warp, record)) {
    return;
  }
  if ((record.modes & kStreamMode) != 0) {
    StreamAccess(warp, record, access);
  }
  if ((record.modes & (kCountMode | kPageMode)) != 0) {
    ChargeAccess(warp, record, access);
  }
}

template <Warp W>
ORRERY_HOST_DEVICE void SeeAccess(W warp, LaunchRecord& record, Access access) {
  if (!IsAccess(access.flags)) {
    return;
  }
  const bool is_usual = (record.modes & ~kPageMode) == kCountMode && record.block_period <= 1;
  if (!is_usual || !ChargeUsualAccess(warp, record, access)) {
    SeeAnyAccess(warp, record, access);
  }
}

template <Warp W>
ORRERY_HOST_DEVICE void SeeBulk(W warp, LaunchRecord& record, BulkCopy copy) {
  if (copy.blocks == 0 || !IsInTakenBlock(warp, record)) {
    return;
  }
  if ((record.modes & kStreamMode) != 0) {
    StreamBulk(warp, record, copy);
  }
  if ((record.modes & (kCountMode | kPageMode)) != 0) {
    ChargeBulk(warp, record, copy);
  }
}

}  // namespace orrery::capture
