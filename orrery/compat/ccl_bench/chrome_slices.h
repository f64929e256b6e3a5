#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "orrery/base/columns.h"
#include "orrery/base/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

// A file as Chrome JSON represents it: slices of all tables, host and device.

namespace orrery::compat::ccl_bench {

struct Slice {
  Interval time;
  StringId name = StringId::kEmpty;
  StringId category = StringId::kEmpty;  // where the table does not imply it
  StringId extra = StringId::kEmpty;
  RowId track = kNoRow;
};

/// Returns the arguments of an activity that have no column.
[[nodiscard]] StringId ExtraOf(const trace::Trace& trace, RowId activity);

/// Calls `visit(slice)` for each row of a table with durations.
template <typename Table, typename Visit>
void ForEachSliceOf(const Table& table, Visit&& visit) {
  for (RowId row = 0; row < table.size(); ++row) {
    Slice slice{.time = {table.begin_ns[row], table.begin_ns[row] + table.duration_ns[row]},
                .name = table.name[row],
                .extra = table.extra[row],
                .track = table.track[row]};
    if constexpr (requires { table.category; }) {
      slice.category = table.category[row];
    }
    visit(slice);
  }
}

/// Calls `visit(slice)` for each slice of a file, table by table.
template <typename Visit>
void ForEachSlice(const trace::Trace& trace, Visit&& visit) {
  RowId activity = 0;
  ForEachSliceOf(trace.activities, [&](Slice slice) {
    slice.extra = ExtraOf(trace, activity++);
    visit(slice);
  });
  ForEachSliceOf(trace.host_ops, visit);
  ForEachSliceOf(trace.runtime_calls, visit);
  ForEachSliceOf(trace.annotations, visit);
  ForEachSliceOf(trace.python_calls, visit);
  ForEachSliceOf(trace.syncs, visit);
  ForEachSliceOf(trace.other_slices, visit);
}

/// Arguments of an XLA operation.
struct XlaArguments {
  std::optional<double> device_seconds = {};
  std::optional<double> model_flops = {};
  std::optional<double> message_bytes = {};   // from the shape, else the accessed bytes
  std::optional<double> accessed_bytes = {};  // raw before estimated
  std::string_view hlo_category = {};
};

/// Parses each distinct set of arguments once.
class XlaArgumentsMemo {
 public:
  explicit XlaArgumentsMemo(const trace::Trace& trace) : trace_(trace) {}

  const XlaArguments& operator()(StringId extra);

 private:
  const trace::Trace& trace_;
  std::unordered_map<StringId, XlaArguments> arguments_of_extra_;
};

/// Returns the time from the first begin to the last end of all slices of all files.
[[nodiscard]] std::optional<double> WallMicroseconds(const Run& run);

struct ModelFlops {
  double model_flops = 0;
  std::int64_t busy_ns = 0;  // while a slice with FLOPs runs
};

[[nodiscard]] ModelFlops SumModelFlops(const Run& run);

/// Returns the bytes of shapes such as "(bf16[8,128]{1,0}, u32[])"; 0 for none.
[[nodiscard]] double ShapeBytes(std::string_view shape);

}  // namespace orrery::compat::ccl_bench
