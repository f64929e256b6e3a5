#include "orrery/ingest/nsys/message_sizes.h"

#include <algorithm>
#include <limits>

namespace orrery::ingest::nsys {
namespace {

using trace::CollectiveKind;

// Sizes stop growing here, far above any real sum and far below overflow.
constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max() / 4;

bool IsExchange(const std::vector<NcclCall>& calls) {
  const auto has = [&](CollectiveKind kind) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const NcclCall& call) { return call.kind == kind; });
  };
  return has(CollectiveKind::kSend) && has(CollectiveKind::kRecv);
}

MessageSizes SizesOf(const NcclCall& call, std::int32_t num_ranks, bool is_exchange) {
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
      return {part, is_exchange ? 0 : part};
    case CollectiveKind::kRecv:
      return {is_exchange ? 0 : part, part};
    default:
      return {part, part};
  }
}

std::int64_t Sum(std::int64_t lhs, std::int64_t rhs) {
  return lhs < 0 || rhs < 0 || lhs > kMaxBytes - rhs ? -1 : lhs + rhs;
}

}  // namespace

MessageSizes SumMessageSizes(const std::vector<NcclCall>& calls, std::int32_t num_ranks) {
  const bool is_exchange = IsExchange(calls);
  MessageSizes total{0, 0};
  for (const NcclCall& call : calls) {
    const MessageSizes sizes = SizesOf(call, num_ranks, is_exchange);
    total.in_bytes = Sum(total.in_bytes, sizes.in_bytes);
    total.out_bytes = Sum(total.out_bytes, sizes.out_bytes);
  }
  return total;
}

}  // namespace orrery::ingest::nsys
