#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {

/// A range of NCCL's NVTX domain: a call that moves data, or the start or end of a group of calls.
struct NcclCall {
  enum class Role { kData, kGroupStart, kGroupEnd };

  Role role = Role::kData;
  CollectiveKind kind = CollectiveKind::kUnknown;
  RowId track = kNoRow;
  Interval time = {};
  StringId name = StringId::kEmpty;
  std::uint64_t communicator = 0;  // 0: the export holds no payloads
  std::int64_t bytes = -1;
  std::int32_t peer = -1;
};

/// Parameters of a communicator at its creation.
struct NcclCommunicator {
  std::int32_t num_ranks = -1;
  std::int32_t rank = -1;
  std::int32_t device = -1;
};

/// NCCL calls and communicators of one rank, in the order of the export.
struct NcclRecord {
  std::vector<NcclCall> calls;
  std::map<std::uint64_t, NcclCommunicator> communicators;
};

/// Calls of NCCL that were issued together: one call, or all calls of a group. Their kernels are
/// launched on the same thread between `begin_ns` and `end_ns`.
struct NcclOperation {
  RowId track = kNoRow;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<NcclCall> calls = {};  // those that move data
};

/// Puts the calls of one rank together, ordered by track and begin. Groups may be nested; a group
/// that was still open at the end gives its calls one by one.
[[nodiscard]] std::vector<NcclOperation> GroupNcclCalls(std::vector<NcclCall> calls);

struct MessageSizes {
  std::int64_t in_bytes = -1;
  std::int64_t out_bytes = -1;
};

/// Returns the bytes that calls read and write on this rank. NCCL gives the size of the part that
/// belongs to one rank, so the gathered, scattered or exchanged side is that times the ranks of the
/// communicator (unknown where `num_ranks` is). Where sends and receives come together, sends are
/// what is read and receives what is written; alone they are both, as PyTorch counts them. One
/// unknown size makes the sum unknown.
[[nodiscard]] MessageSizes SumMessageSizes(const std::vector<NcclCall>& calls,
                                           std::int32_t num_ranks);

/// Fills the collectives and process groups of a finished trace, and links activities to them.
///
/// A row is what was launched together: the kernels of one call, or of one group of calls. Where
/// the export holds NCCL's NVTX ranges, a kernel belongs to the range (or group) around its launch
/// on the same thread; payloads then give communicator, bytes and peer. Calls of one kind and
/// communicator inside a group add up their bytes, sends (in) and receives (out) become one
/// send-receive. Kernels without a range are rows of their own, ranges without kernels are rows
/// with the time of the call. A process group is a communicator.
void FillCollectives(trace::Trace& trace, const NcclRecord& record);

}  // namespace orrery::ingest::nsys
