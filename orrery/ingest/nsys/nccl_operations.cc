#include "orrery/ingest/nsys/nccl_operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"

namespace orrery::ingest::nsys {
namespace {

using Role = NcclCall::Role;

// Sizes stop growing here, far above any real sum and far below overflow.
constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max() / 4;

MessageSizes SizesOf(const NcclCall& call, std::int32_t num_ranks, bool sends_and_receives) {
  const std::int64_t part = call.bytes;
  std::int64_t whole = -1;
  if (part >= 0 && num_ranks > 0 && part <= kMaxBytes / num_ranks) {
    whole = part * num_ranks;
  }
  switch (call.kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
      return {part, whole};
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter:
      return {whole, part};
    case CollectiveKind::kAllToAll:
      return {whole, whole};
    case CollectiveKind::kSend:
      return {part, sends_and_receives ? 0 : part};
    case CollectiveKind::kRecv:
      return {sends_and_receives ? 0 : part, part};
    default:
      return {part, part};
  }
}

std::int64_t Sum(std::int64_t lhs, std::int64_t rhs) {
  return lhs < 0 || rhs < 0 || lhs > kMaxBytes - rhs ? -1 : lhs + rhs;
}

}  // namespace

std::vector<NcclOperation> GroupNcclCalls(std::vector<NcclCall> calls) {
  std::ranges::stable_sort(
      calls, {}, [](const NcclCall& call) { return std::pair(call.track, call.time.begin_ns); });
  std::vector<NcclOperation> operations;
  NcclOperation group;
  int depth = 0;
  const auto add_single = [&](const NcclCall& call) {
    operations.push_back({call.track, call.time.begin_ns, call.time.end_ns(), {call}});
  };
  const auto end_track = [&] {
    std::ranges::for_each(group.calls, add_single);
    group = {};
    depth = 0;
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const NcclCall& call = calls[i];
    if (i > 0 && call.track != calls[i - 1].track) {
      end_track();
    }
    const int before = depth;
    depth += call.role == Role::kGroupStart ? 1 : 0;
    // An end without a start is of a group that began before the recording.
    depth -= call.role == Role::kGroupEnd && depth > 0 ? 1 : 0;
    if (before == 0 && depth == 1) {
      group = {.track = call.track, .begin_ns = call.time.begin_ns};
    } else if (before == 1 && depth == 0) {
      group.end_ns = call.time.end_ns();
      if (!group.calls.empty()) {
        operations.push_back(std::move(group));
      }
      group = {};
    } else if (call.role == Role::kData && depth > 0) {
      group.calls.push_back(call);
    } else if (call.role == Role::kData) {
      add_single(call);
    }
  }
  end_track();
  std::ranges::stable_sort(operations, {}, [](const NcclOperation& operation) {
    return std::pair(operation.track, operation.begin_ns);
  });
  return operations;
}

MessageSizes SumMessageSizes(const std::vector<NcclCall>& calls, std::int32_t num_ranks) {
  const auto has = [&](CollectiveKind kind) {
    return std::ranges::find(calls, kind, &NcclCall::kind) != calls.end();
  };
  const bool sends_and_receives = has(CollectiveKind::kSend) && has(CollectiveKind::kRecv);
  MessageSizes total{0, 0};
  for (const NcclCall& call : calls) {
    const MessageSizes sizes = SizesOf(call, num_ranks, sends_and_receives);
    total.in_bytes = Sum(total.in_bytes, sizes.in_bytes);
    total.out_bytes = Sum(total.out_bytes, sizes.out_bytes);
  }
  return total;
}

}  // namespace orrery::ingest::nsys
