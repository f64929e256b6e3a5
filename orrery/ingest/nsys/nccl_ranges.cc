#include "orrery/ingest/nsys/nccl_ranges.h"

#include <algorithm>
#include <limits>

#include "orrery/trace/collective_names.h"

namespace orrery::ingest::nsys {
namespace {

const PayloadValue* Find(const std::vector<PayloadValue>& payload, std::string_view name) {
  const auto found = std::find_if(payload.begin(), payload.end(),
                                  [&](const PayloadValue& value) { return value.name == name; });
  return found == payload.end() ? nullptr : &*found;
}

std::int64_t Integer(const std::vector<PayloadValue>& payload, std::string_view name,
                     std::int64_t max) {
  const PayloadValue* value = Find(payload, name);
  const auto number = value == nullptr ? -1 : static_cast<std::int64_t>(value->bits);
  return number < 0 || number > max ? -1 : number;
}

std::int32_t SmallInteger(const std::vector<PayloadValue>& payload, std::string_view name) {
  return static_cast<std::int32_t>(
      Integer(payload, name, std::numeric_limits<std::int32_t>::max()));
}

// A petabyte: more is damage, and sums of such sizes stay far from overflow.
constexpr std::int64_t kMaxMessageBytes = std::int64_t{1} << 50;

void ReadPayload(NcclRecord& record, NcclCall& call, const std::vector<PayloadValue>& payload) {
  if (const PayloadValue* id = Find(payload, "NCCL communicator ID")) {
    call.communicator = id->bits;
  }
  call.bytes = Integer(payload, "Message size [bytes]", kMaxMessageBytes);
  call.peer = SmallInteger(payload, "Peer rank");
  const std::int32_t num_ranks = SmallInteger(payload, "No. of ranks");
  if (num_ranks > 0 && call.communicator != 0) {
    record.communicators.try_emplace(
        call.communicator, NcclCommunicator{.num_ranks = num_ranks,
                                            .rank = SmallInteger(payload, "Rank"),
                                            .device = SmallInteger(payload, "CUDA device")});
  }
}

}  // namespace

bool IsNcclRange(std::int64_t domain, std::string_view name) {
  return domain != 0 && name.starts_with("nccl");
}

void AddNcclRange(RankBuilder& rank, std::string_view name, RowId track,
                  const Interval& time, const std::optional<std::vector<PayloadValue>>& payload) {
  NcclCall call{.track = track, .time = time, .name = rank.Intern(name)};
  if (payload) {
    ReadPayload(rank.nccl, call, *payload);
  }
  const auto kind = trace::ParseCollectiveName(name);
  if (name == "ncclGroupStart") {
    call.role = NcclCall::Role::kGroupStart;
  } else if (name == "ncclGroupEnd") {
    call.role = NcclCall::Role::kGroupEnd;
  } else if (kind) {
    call.kind = *kind;
  } else {
    return;
  }
  rank.nccl.calls.push_back(call);
}

}  // namespace orrery::ingest::nsys
