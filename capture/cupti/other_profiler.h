#pragma once

#include <cstddef>
#include <cstdint>

#include <cupti.h>

// CUPTI hands its records to one consumer per process: to the last that registered. PyTorch's
// profiler registers when it starts, and takes all kinds of records away when it stops. So its
// calls are redirected to us: we stay registered, and while it records it gets a copy of the
// records that it asked for.

namespace orrery::capture {

/// The CUPTI state that the recording itself needs.
struct OwnNeeds {
  bool (*is_kind_ours)(CUpti_ActivityKind kind) = nullptr;
  void (*enable_calls)() = nullptr;  // again, after the other disabled all calls
};

/// Takes over the calls of another profiler; again whenever more libraries were loaded.
void ShareWithOtherProfiler(const OwnNeeds& needs);

/// Copies the records of a completed buffer to it, if it records.
void GiveToOtherProfiler(const std::uint8_t* buffer, std::size_t valid_bytes);

}  // namespace orrery::capture
