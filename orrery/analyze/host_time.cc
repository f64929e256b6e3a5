#include "orrery/analyze/host_time.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace orrery::analyze {
namespace {


struct OpenSlice {
  std::string_view name;
  std::int64_t end_ns = 0;
};

struct Slice {
  std::string_view name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// No host slice of interest is longer; looking back further would cost too much for too little.
constexpr std::int64_t kLookBackNs = 10'000'000'000;

template <typename TableType>
void AddSlices(const trace::Trace& trace, const TableType& table, RowId thread, Interval interval,
               std::vector<Slice>& slices) {
  const auto first = std::ranges::lower_bound(table.begin_ns, interval.begin_ns - kLookBackNs);
  for (auto row = static_cast<std::size_t>(first - table.begin_ns.begin());
       row < table.size() && table.begin_ns[row] < interval.end_ns; ++row) {
    const std::int64_t end_ns = table.begin_ns[row] + table.duration_ns[row];
    if (table.track[row] == thread && end_ns > interval.begin_ns) {
      slices.push_back({trace.Text(table.name[row]),
                        std::max(table.begin_ns[row], interval.begin_ns),
                        std::min(end_ns, interval.end_ns)});
    }
  }
}

}  // namespace

HostTimes SelfTimes(const trace::Trace& trace, RowId thread, Interval interval) {
  std::vector<Slice> slices;
  AddSlices(trace, trace.host_ops, thread, interval, slices);
  AddSlices(trace, trace.runtime_calls, thread, interval, slices);
  std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  HostTimes times;
  std::vector<OpenSlice> open;
  std::int64_t now_ns = interval.begin_ns;
  const auto advance = [&](std::int64_t to_ns) {
    while (!open.empty() && open.back().end_ns <= to_ns) {
      times[std::string(open.back().name)] +=
          std::max<std::int64_t>(0, open.back().end_ns - now_ns);
      now_ns = std::max(now_ns, open.back().end_ns);
      open.pop_back();
    }
    if (to_ns > now_ns) {
      times[std::string(open.empty() ? std::string_view() : open.back().name)] += to_ns - now_ns;
      now_ns = to_ns;
    }
  };
  for (const Slice& slice : slices) {
    advance(slice.begin_ns);
    open.push_back({slice.name, slice.end_ns});
  }
  advance(interval.end_ns);
  return times;
}

}  // namespace orrery::analyze
