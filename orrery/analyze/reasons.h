#pragma once

namespace orrery::analyze {

// Why a metric does not apply, where several metrics say the same; all go on from "n/a: ".

inline constexpr const char* kNoGpuReason = "no GPU activity in the selected steps";
inline constexpr const char* kNoStepsReason =
    "no step markers; pass --step-marker REGEX or a card with iteration";
inline constexpr const char* kNoCommunicationReason = "no communication kernels";
inline constexpr const char* kNoSizesReason =
    "message sizes are not in the trace (record with PyTorch 2.3 or newer, or add the execution "
    "trace)";
inline constexpr const char* kNoMatchReason = "no collective could be matched across ranks";
inline constexpr const char* kNoGeometryReason = "launch geometry or SM count unknown";
inline constexpr const char* kNoComputeReason = "no compute kernels in the selected steps";

}  // namespace orrery::analyze
