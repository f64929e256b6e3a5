#include "orrery/ingest/nsys/nccl_operations.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace orrery::ingest::nsys {
namespace {

using Role = NcclCall::Role;

NcclOperation SingleCall(const NcclCall& call) {
  return {.track = call.track,
          .begin_ns = call.time.begin_ns,
          .end_ns = call.time.end_ns(),
          .calls = {call}};
}

// Follows the calls of one track in time.
class GroupTracker {
 public:
  explicit GroupTracker(std::vector<NcclOperation>& operations) : operations_(operations) {}

  void Take(const NcclCall& call) {
    if (call.role == Role::kGroupStart) {
      Open(call);
    } else if (call.role == Role::kGroupEnd) {
      Close(call);
    } else if (depth_ > 0) {
      group_.calls.push_back(call);
    } else {
      operations_.push_back(SingleCall(call));
    }
  }

  void Finish() {
    for (const NcclCall& call : group_.calls) {
      operations_.push_back(SingleCall(call));
    }
    group_ = {};
    depth_ = 0;
  }

 private:
  void Open(const NcclCall& call) {
    if (depth_++ == 0) {
      group_ = {.track = call.track, .begin_ns = call.time.begin_ns, .end_ns = 0, .calls = {}};
    }
  }

  void Close(const NcclCall& call) {
    // An end without a start: the group began before the recording.
    if (depth_ == 0 || --depth_ > 0) {
      return;
    }
    group_.end_ns = call.time.end_ns();
    if (!group_.calls.empty()) {
      operations_.push_back(std::move(group_));
    }
    group_ = {};
  }

  std::vector<NcclOperation>& operations_;
  NcclOperation group_;
  int depth_ = 0;
};

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

std::vector<NcclOperation> GroupNcclCalls(std::vector<NcclCall> calls) {
  std::stable_sort(calls.begin(), calls.end(), [](const NcclCall& lhs, const NcclCall& rhs) {
    return std::tie(lhs.track, lhs.time.begin_ns) < std::tie(rhs.track, rhs.time.begin_ns);
  });
  std::vector<NcclOperation> operations;
  GroupTracker tracker(operations);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0 && calls[i].track != calls[i - 1].track) {
      tracker.Finish();
    }
    tracker.Take(calls[i]);
  }
  tracker.Finish();
  std::stable_sort(operations.begin(), operations.end(),
                   [](const NcclOperation& lhs, const NcclOperation& rhs) {
                     return std::tie(lhs.track, lhs.begin_ns) < std::tie(rhs.track, rhs.begin_ns);
                   });
  return operations;
}

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
