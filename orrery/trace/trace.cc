#include "orrery/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace orrery::trace {
namespace {

class SpanBuilder {
 public:
  void Add(std::int64_t begin_ns, std::int64_t end_ns) {
    span_.begin_ns = std::min(span_.begin_ns, begin_ns);
    span_.end_ns = std::max(span_.end_ns, end_ns);
  }

  template <typename Table>
  void AddSlices(const Table& table) {
    for (std::size_t row = 0; row < table.size(); ++row) {
      Add(table.begin_ns[row], table.begin_ns[row] + table.duration_ns[row]);
    }
  }

  [[nodiscard]] Span Build() const { return span_.begin_ns > span_.end_ns ? Span{} : span_; }

 private:
  Span span_{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
};

}  // namespace

Span RecordedSpan(const Trace& trace) {
  SpanBuilder builder;
  builder.AddSlices(trace.activities);
  builder.AddSlices(trace.host_ops);
  builder.AddSlices(trace.runtime_calls);
  builder.AddSlices(trace.annotations);
  builder.AddSlices(trace.syncs);
  builder.AddSlices(trace.python_calls);
  for (const std::int64_t time_ns : trace.memory_events.begin_ns) {
    builder.Add(time_ns, time_ns);
  }
  for (std::size_t row = 0; row < trace.graph_nodes.size(); ++row) {
    if (trace.graph_nodes.begin_ns[row] >= 0) {
      builder.Add(trace.graph_nodes.begin_ns[row],
                  trace.graph_nodes.begin_ns[row] + trace.graph_nodes.duration_ns[row]);
    }
  }
  return builder.Build();
}

}  // namespace orrery::trace
