#include "orrery/ingest/nsys/nccl_operations.h"

#include <algorithm>
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

}  // namespace orrery::ingest::nsys
