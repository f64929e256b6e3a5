#pragma once

#include <string_view>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery::collective {

/// One collective that all ranks of a group call.
struct Request {
  CollectiveKind kind = CollectiveKind::kAllReduce;

  /// The full size, as in nccl-tests: all-reduce the buffer, all-gather the result,
  /// reduce-scatter the input, all-to-all what one rank sends.
  Bytes size{};

  DataType element = DataType::kFp32;

  bool operator==(const Request&) const = default;
};

/// Reads "allreduce 64MiB", "all_gather 1GB bf16", "alltoall 4194304", "barrier": a kind with or
/// without underscores, a size (KB, MB, GB, TB of 1000; KiB, MiB, GiB, TiB of 1024), a type
/// (default float).
[[nodiscard]] Result<Request> ParseRequest(std::string_view text);

/// Read the parts of a request: "all_reduce", "64MiB", "bfloat16".
[[nodiscard]] Result<CollectiveKind> ParseCollectiveKind(std::string_view text);
[[nodiscard]] Result<Bytes> ParseSize(std::string_view text);
[[nodiscard]] Result<DataType> ParseElementType(std::string_view text);

/// Returns busbw / algbw, which makes bandwidths of different numbers of ranks comparable with that
/// of a link.
[[nodiscard]] double BusFactor(CollectiveKind kind, int ranks);

/// Returns true if NVSwitch can reduce values of the type.
[[nodiscard]] bool SwitchReduces(DataType element);

}  // namespace orrery::collective
