#pragma once

#include <cstdint>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"

// The tables of a Trace for the memory accesses of device work, where they were recorded. As in
// tables.h: integer nanoseconds, bytes, -1 (or kNoRow) for "not known".
//
// `order` is the number of an event in its process. It orders what the host did, also where times
// are equal or come from several clocks.

namespace orrery::trace {

/// Memory objects and their lifetimes: allocations of the driver, segments and tensors of the
/// framework's allocator, static data. `begin_ns` is the birth, or the begin of the recording for
/// older objects (`birth_order` -1); `duration_ns` is -1 for objects never freed.
#define ORRERY_MEMORY_OBJECT_COLUMNS(X)                                       \
  X(std::int64_t, begin_ns, 0)                                                \
  X(std::int64_t, duration_ns, -1)                                            \
  X(std::int64_t, id, -1) /* the recorder's number */                         \
  X(std::uint64_t, address, 0)                                                \
  X(std::int64_t, bytes, 0)                                                   \
  X(std::int64_t, requested_bytes, -1) /* before the allocator rounded up */  \
  X(MemoryClass, memory_class, MemoryClass::kUnknown)                         \
  X(std::int32_t, device, -1)                                                 \
  X(std::int64_t, stream, -1)                                                 \
  X(std::int64_t, birth_order, -1)                                            \
  X(std::int64_t, death_order, -1)                                            \
  X(StringId, name, StringId::kEmpty)                                         \
  X(StringId, call_stack, StringId::kEmpty) /* frames, the innermost first */ \
  X(RowId, host_op, kNoRow)                 /* that allocated it */           \
  X(RowId, parent, kNoRow)                  /* MemoryObjects: what it lies in */
ORRERY_TABLE(MemoryObjects, ORRERY_MEMORY_OBJECT_COLUMNS);

/// How each launch, memcpy and memset of a recording was observed, in order. A launch that was left
/// out has its reason, and the probability with which such a launch is taken.
#define ORRERY_OBSERVATION_COLUMNS(X)     \
  X(RowId, activity, kNoRow)              \
  X(std::int64_t, order, 0)               \
  X(Coverage, coverage, Coverage::kExact) \
  X(StringId, reason, StringId::kEmpty)   \
  X(double, inclusion_probability, 1.0)   \
  X(StringId, call_stack, StringId::kEmpty)
ORRERY_TABLE(Observations, ORRERY_OBSERVATION_COLUMNS);

/// The accesses of one activity to one object: bytes issued (which exceed the object when data are
/// read again), 32-byte sectors, accesses of lanes and of warps. Without an object: addresses that
/// no object owns. Known only by argument or descriptor: all counts are -1, and [address, address +
/// extent_bytes) is what the activity can reach. Memcpys and memsets have their extent too,
/// which exceeds their bytes when rows have gaps.
#define ORRERY_TOUCH_COLUMNS(X)           \
  X(RowId, activity, kNoRow)              \
  X(RowId, object, kNoRow)                \
  X(Coverage, coverage, Coverage::kExact) \
  X(std::int64_t, read_bytes, -1)         \
  X(std::int64_t, write_bytes, -1)        \
  X(std::int64_t, atomic_bytes, -1)       \
  X(std::int64_t, sectors, -1)            \
  X(std::int64_t, lanes, -1)              \
  X(std::int64_t, warps, -1)              \
  X(std::uint64_t, address, 0)            \
  X(std::int64_t, extent_bytes, -1)
ORRERY_TABLE(Touches, ORRERY_TOUCH_COLUMNS);

/// Pages that an activity touched, neighbours with equal counts in one row. `address` is that of
/// the first page, `accesses` is for each page.
#define ORRERY_PAGE_RUN_COLUMNS(X) \
  X(RowId, activity, kNoRow)       \
  X(RowId, object, kNoRow)         \
  X(std::uint64_t, address, 0)     \
  X(std::int64_t, num_pages, 0)    \
  X(std::int64_t, page_bytes, 0)   \
  X(std::int64_t, accesses, -1)
ORRERY_TABLE(PageRuns, ORRERY_PAGE_RUN_COLUMNS);

/// Single accesses of warps, of activities that were recorded in full. Lane i is active if
/// `lane_mask` has bit i. It is at address + i * stride, or, if there is a `first_lane`, the k-th
/// active lane is at the address in row first_lane + k of AccessLanes.
#define ORRERY_ACCESS_COLUMNS(X)                               \
  X(RowId, activity, kNoRow)                                   \
  X(std::uint64_t, pc, 0) /* from the begin of the function */ \
  X(std::int64_t, block, 0)                                    \
  X(std::int64_t, warp, 0)                                     \
  X(std::uint64_t, lane_mask, 0)                               \
  X(std::int32_t, access_bytes, 0) /* of one lane */           \
  X(std::uint8_t, is_read, 0)                                  \
  X(std::uint8_t, is_write, 0)                                 \
  X(std::uint8_t, is_atomic, 0)                                \
  X(std::uint64_t, address, 0)                                 \
  X(std::int64_t, stride, 0)                                   \
  X(RowId, first_lane, kNoRow) /* AccessLanes */
ORRERY_TABLE(Accesses, ORRERY_ACCESS_COLUMNS);

/// Addresses of lanes that follow no rule.
#define ORRERY_ACCESS_LANE_COLUMNS(X) X(std::uint64_t, address, 0)
ORRERY_TABLE(AccessLanes, ORRERY_ACCESS_LANE_COLUMNS);

/// Coverage according to the recorder: what it patched, skipped, dropped and could not observe.
#define ORRERY_COVERAGE_COUNT_COLUMNS(X)      \
  X(CoverageKind, kind, CoverageKind::kOther) \
  X(StringId, name, StringId::kEmpty)         \
  X(std::int64_t, count, 0)                   \
  X(std::int32_t, device, -1)                 \
  X(RowId, activity, kNoRow)                  \
  X(std::uint64_t, address, 0) /* a sample */
ORRERY_TABLE(CoverageCounts, ORRERY_COVERAGE_COUNT_COLUMNS);

/// The overhead of the recording itself. The total is measured separately.
#define ORRERY_OVERHEAD_COLUMNS(X)               \
  X(OverheadPhase, phase, OverheadPhase::kTotal) \
  X(std::int64_t, total_ns, 0)                   \
  X(std::int64_t, count, 0)                      \
  X(std::int64_t, bytes, 0)                      \
  X(std::int32_t, device, -1)
ORRERY_TABLE(Overheads, ORRERY_OVERHEAD_COLUMNS);

}  // namespace orrery::trace
