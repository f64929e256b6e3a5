#pragma once

#include <cstddef>
#include <string_view>

#include <cupti.h>

#include "capture/cupti/activity_source.h"

#if CUPTI_API_VERSION < 130000
#error "coarse capture needs CUPTI of CUDA 13.0 or newer"
#endif

namespace orrery::capture {

/// Counters of managed memory that have an action in the stream; their codes begin with 1.
inline constexpr std::size_t kNumManagedCounters = 8;

/// "cudaLaunchKernel_v7000"; empty where CUPTI does not know the call.
[[nodiscard]] std::string_view NameOfCall(CUpti_CallbackDomain domain, CUpti_CallbackId id);

/// Hands a record of CUPTI over as one of the stream.
void ShowAny(const CUpti_Activity& activity, ActivityReceiver& receiver);

}  // namespace orrery::capture
