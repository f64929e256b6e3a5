#include "orrery/simulate/share_names.h"

#include <fmt/core.h>

namespace orrery::simulate {

std::string ShareKey(const TimeShare& share) {
  switch (share.kind) {
    case TimeKind::kCompute:
    case TimeKind::kWait:
      return fmt::format("{}.{}", Name(share.kind), share.what);
    case TimeKind::kTransfer:
      return fmt::format("exposed.{}", share.what);
    case TimeKind::kOptimizer:
    case TimeKind::kBubble:
    case TimeKind::kHost:
      return std::string(Name(share.kind));
  }
  return "";
}

std::string ShareText(const TimeShare& share) {
  switch (share.kind) {
    case TimeKind::kCompute:
      return share.what;
    case TimeKind::kTransfer:
      return fmt::format("{} communication, exposed", share.what);
    case TimeKind::kWait:
      return fmt::format("waiting for others in {}", share.what);
    case TimeKind::kBubble:
      return "pipeline bubble";
    case TimeKind::kHost:
      return "waiting for the host";
    case TimeKind::kOptimizer:
      return "optimizer";
  }
  return "";
}

}  // namespace orrery::simulate
