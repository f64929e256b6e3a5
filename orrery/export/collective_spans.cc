#include "orrery/export/collective_spans.h"

#include <algorithm>

#include "orrery/base/check.h"

namespace orrery::exporting {
namespace {

std::size_t LastArrival(const CollectiveSpan& span) {
  const auto by_begin = [](const CollectiveMember& lhs, const CollectiveMember& rhs) {
    return lhs.begin_ns < rhs.begin_ns;
  };
  const auto last = std::max_element(span.members.begin(), span.members.end(), by_begin);
  return static_cast<std::size_t>(last - span.members.begin());
}

double BusBandwidth(const CollectiveSpan& span, std::int64_t transfer_ns) {
  if (span.bytes < 0 || span.bus_factor <= 0 || transfer_ns <= 0) {
    return -1;
  }
  return static_cast<double>(span.bytes) * span.bus_factor * 1e9 / static_cast<double>(transfer_ns);
}

}  // namespace

CollectiveFigures FiguresOf(const CollectiveSpan& span) {
  ORRERY_CHECK(!span.members.empty(), "a collective has members");
  CollectiveFigures figures;
  const CollectiveMember& first = span.members.front();
  figures.begin_ns = first.begin_ns;
  figures.end_ns = first.end_ns;
  figures.transfer_ns = first.end_ns - first.begin_ns;
  for (const CollectiveMember& member : span.members) {
    figures.begin_ns = std::min(figures.begin_ns, member.begin_ns);
    figures.end_ns = std::max(figures.end_ns, member.end_ns);
    figures.transfer_ns = std::min(figures.transfer_ns, member.end_ns - member.begin_ns);
    figures.wait_sum_ns += member.wait_ns;
  }
  figures.last_member = LastArrival(span);
  figures.bus_bytes_per_second = BusBandwidth(span, figures.transfer_ns);
  return figures;
}

void WaitForLastArrival(CollectiveSpan& span) {
  if (span.members.empty()) {
    return;
  }
  const std::int64_t last_begin_ns = span.members[LastArrival(span)].begin_ns;
  for (CollectiveMember& member : span.members) {
    member.wait_ns = std::min(last_begin_ns, member.end_ns) - member.begin_ns;
  }
}

}  // namespace orrery::exporting
