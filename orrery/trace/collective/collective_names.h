#pragma once

#include <optional>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::trace {

/// Parses the names that frameworks give to collective calls ("_allgather_base",
/// "all_reduce", "c10d::allreduce_", "ncclAllReduce"); nothing for "wait" and other names.
[[nodiscard]] std::optional<CollectiveKind> ParseCollectiveName(std::string_view name);

/// A communication kernel according to its name.
struct CommunicationKernel {
  CollectiveKind kind = CollectiveKind::kUnknown;  // unknown for generic and fused kernels
  DataType data_type = DataType::kUnknown;         // int8 of pure copies is not the tensor's type
};

/// Classifies a communication kernel; nothing when `name` is another kernel. One table
/// holds the families: NCCL and RCCL of all ages, MSCCL++, symmetric memory, DeepEP, NVSHMEM,
/// HCCL, oneCCL and the one-shot reductions of serving engines.
[[nodiscard]] std::optional<CommunicationKernel> ClassifyCommunicationKernel(std::string_view name);

}  // namespace orrery::trace
