#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {

/// A range of NCCL's NVTX domain: a call that moves data, or the start or end of a group of calls.
struct NcclCall {
  enum class Role { kData, kGroupStart, kGroupEnd };

  Role role = Role::kData;
  trace::CollectiveKind kind = trace::CollectiveKind::kUnknown;
  RowId track = kNoRow;
  Interval time = {};
  StringId name = StringId::kEmpty;
  std::uint64_t communicator = 0;  // 0: the export holds no payloads
  std::int64_t bytes = -1;
  std::int32_t peer = -1;
};

/// What the creation of a communicator said.
struct NcclCommunicator {
  std::int32_t num_ranks = -1;
  std::int32_t rank = -1;
  std::int32_t device = -1;
};

/// Everything NCCL told about one rank, in the order of the export.
struct NcclRecord {
  std::vector<NcclCall> calls;
  std::map<std::uint64_t, NcclCommunicator> communicators;
};

}  // namespace orrery::ingest::nsys
