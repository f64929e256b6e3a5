#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// Which work of other streams an activity had to wait for, by the events that streams wait for.
/// Profilers record these waits only when asked; without them nothing is known and nothing is
/// stored. Building costs O(n log n) in the launched activities of the trace.
class AwaitedWork {
 public:
  explicit AwaitedWork(const trace::Trace& trace);

  /// Returns when the last work ended that the activity's stream was told to wait for between its
  /// previous launch and the launch of the activity.
  [[nodiscard]] std::optional<std::int64_t> EndNs(RowId activity) const;

 private:
  struct Launch {
    std::int64_t call_begin_ns = 0;
    std::int64_t end_ns = 0;  // of the activity
  };

  struct Wait {
    std::int64_t call_begin_ns = 0;
    std::int64_t awaited_end_ns = 0;
  };

  using Stream = std::pair<std::int32_t, std::int64_t>;  // device and number

  void IndexLaunches();
  void IndexWaits();
  [[nodiscard]] std::optional<std::int64_t> EndBefore(std::int64_t stream,
                                                      std::int64_t record_ns) const;

  const trace::Trace& trace_;
  std::map<Stream, std::vector<Launch>> launches_on_stream_;  // in order of the call
  std::map<Stream, std::vector<Wait>> waits_on_stream_;       // in order of the call
};

}  // namespace orrery::analyze
