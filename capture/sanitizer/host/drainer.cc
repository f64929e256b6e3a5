#include "capture/sanitizer/host/drainer.h"

#include <algorithm>
#include <utility>

#include "capture/sanitizer/host/results.h"
#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

}  // namespace

void Drainer::WaitAndDrain(Context& context, StreamHandle stream) {
  {
    const Overheads::Scope scope(overheads_, codes::kWaiting);
    static_cast<void>(calls_.Synchronize(stream));
  }
  DrainPassed(context, stream);
}

void Drainer::DrainPassed(Context& context, std::optional<StreamHandle> stream) {
  context.left_out_nodes().OnPassed(stream);
  Drain(context, stream);
}

void Drainer::Drain(Context& context, std::optional<StreamHandle> stream) {
  std::vector<PendingLaunch> launches = context.pool().TakeEnded(stream);
  if (launches.empty()) {
    return;
  }
  context.pool().ReadBack(launches);
  std::uint64_t num_dropped = 0;
  if (context.accesses() != nullptr && !context.pool().is_broken()) {
    num_dropped = FinishAccesses(*context.accesses(), launches);
  }
  Finish(context, launches, num_dropped != 0);
  context.pool().Release(std::move(launches));
}

std::uint64_t Drainer::FinishAccesses(AccessStream& accesses,
                                      const std::vector<PendingLaunch>& launches) {
  const bool is_streamed =
      std::any_of(launches.begin(), launches.end(),
                  [](const PendingLaunch& launch) { return (launch.modes & kStreamMode) != 0; });
  if (!is_streamed) {
    return 0;
  }
  const std::uint64_t num_dropped = accesses.Finish(launches.back().stream);
  if (num_dropped != 0) {
    recorder_.Count(codes::kRecordsDropped, "accesses that found no room in the ring", num_dropped);
  }
  return num_dropped;
}

void Drainer::Finish(Context& context, const std::vector<PendingLaunch>& launches, bool is_cut) {
  const Overheads::Scope scope(overheads_, codes::kAnalysis);
  for (const PendingLaunch& launch : launches) {
    if (launch.is_cancelled) {
      continue;
    }
    if (launch.is_lost) {
      WriteLost(recorder_, launch);
      continue;
    }
    const bool is_streamed = (launch.modes & kStreamMode) != 0;
    WriteResults(recorder_, launch,
                 (launch.modes & kCountMode) != 0 ? context.pool().Results(launch)
                                                  : context.accesses()->Results(launch),
                 is_cut && is_streamed);
    if (is_streamed) {
      context.accesses()->Forget(launch);
    }
  }
}

}  // namespace orrery::capture::sanitizer
