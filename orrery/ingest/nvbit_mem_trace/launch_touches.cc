#include "orrery/ingest/nvbit_mem_trace/launch_touches.h"

#include <bit>
#include <cstddef>
#include <optional>
#include <set>

namespace orrery::ingest::nvbit_mem_trace {
namespace {

constexpr std::uint64_t kSectorBytes = 32;

bool IsActive(const AccessLine& access, std::size_t lane) {
  return (access.lane_mask >> lane & 1) != 0;
}

// Calls `visit(address)` for each active lane.
template <typename Visit>
void ForEachLane(const AccessLine& access, Visit visit) {
  for (std::size_t lane = 0; lane < access.addresses.size(); ++lane) {
    if (IsActive(access, lane)) {
      visit(access.addresses[lane]);
    }
  }
}

// The distance of neighbouring lanes, if it is the same for all active ones.
std::optional<std::int64_t> StrideOf(const AccessLine& access) {
  const auto first = static_cast<std::size_t>(std::countr_zero(access.lane_mask));
  const std::uint32_t others = access.lane_mask & (access.lane_mask - 1);
  if (others == 0) {
    return 0;
  }
  const auto second = static_cast<std::size_t>(std::countr_zero(others));
  const auto between =
      static_cast<std::int64_t>(access.addresses[second] - access.addresses[first]);
  const auto steps = static_cast<std::int64_t>(second - first);
  if (between % steps != 0) {
    return std::nullopt;
  }
  const std::int64_t stride = between / steps;
  for (std::size_t lane = second; lane < access.addresses.size(); ++lane) {
    const std::uint64_t expected =
        access.addresses[first] + static_cast<std::uint64_t>(stride) * (lane - first);
    if (IsActive(access, lane) && access.addresses[lane] != expected) {
      return std::nullopt;
    }
  }
  return stride;
}

}  // namespace

void LaunchTouches::Add(const AccessLine& access, const Operation& operation) {
  const int num_lanes = std::popcount(access.lane_mask);
  const std::int64_t bytes = std::int64_t{num_lanes} * operation.bytes;
  atomic_bytes_ += operation.is_atomic ? bytes : 0;
  read_bytes_ += operation.is_read && !operation.is_atomic ? bytes : 0;
  write_bytes_ += operation.is_write && !operation.is_atomic ? bytes : 0;
  lanes_ += num_lanes;
  ++warps_;
  std::set<std::uint64_t> sectors;
  ForEachLane(access, [&](std::uint64_t address) {
    sectors.insert(address / kSectorBytes);
    ++lanes_on_page_[address / kPageBytes];
  });
  sectors_ += static_cast<std::int64_t>(sectors.size());
}

void LaunchTouches::AppendTo(RowId activity, trace::Trace& trace) const {
  trace.touches.Append({.activity = activity,
                        .read_bytes = read_bytes_,
                        .write_bytes = write_bytes_,
                        .atomic_bytes = atomic_bytes_,
                        .sectors = sectors_,
                        .lanes = lanes_,
                        .warps = warps_});
  trace::PageRuns& runs = trace.page_runs;
  std::uint64_t next_page = 0;
  bool has_run = false;
  for (const auto& [page, accesses] : lanes_on_page_) {
    if (has_run && page == next_page && runs.accesses.back() == accesses) {
      ++runs.num_pages.back();
    } else {
      runs.Append({.activity = activity,
                   .address = page * kPageBytes,
                   .num_pages = 1,
                   .page_bytes = kPageBytes,
                   .accesses = accesses});
      has_run = true;
    }
    next_page = page + 1;
  }
}

void AppendAccess(const AccessLine& access, const Operation& operation, trace::Accesses::Row row,
                  trace::Trace& trace) {
  const auto first = static_cast<std::size_t>(std::countr_zero(access.lane_mask));
  row.warp = access.warp;
  row.lane_mask = access.lane_mask;
  row.access_bytes = operation.bytes;
  row.is_read = operation.is_read ? 1 : 0;
  row.is_write = operation.is_write ? 1 : 0;
  row.is_atomic = operation.is_atomic ? 1 : 0;
  if (const auto stride = StrideOf(access)) {
    row.stride = *stride;
    row.address = access.addresses[first] - static_cast<std::uint64_t>(*stride) * first;
  } else {
    row.address = access.addresses[first];
    row.first_lane = static_cast<RowId>(trace.access_lanes.size());
    ForEachLane(access,
                [&](std::uint64_t address) { trace.access_lanes.Append({.address = address}); });
  }
  trace.accesses.Append(row);
}

}  // namespace orrery::ingest::nvbit_mem_trace
