#pragma once

#include <cstdint>
#include <map>

#include "orrery/ingest/nvbit_mem_trace/line.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nvbit_mem_trace {

/// Pages that accesses are counted by.
inline constexpr std::int64_t kPageBytes = 4096;

/// What one launch did to memory, all objects unknown.
class LaunchTouches {
 public:
  void Add(const AccessLine& access, const Operation& operation);

  [[nodiscard]] bool empty() const { return warps_ == 0; }

  /// Appends a touch without an object, and the pages.
  void AppendTo(RowId activity, trace::Trace& trace) const;

 private:
  std::int64_t read_bytes_ = 0;
  std::int64_t write_bytes_ = 0;
  std::int64_t atomic_bytes_ = 0;
  std::int64_t sectors_ = 0;
  std::int64_t lanes_ = 0;
  std::int64_t warps_ = 0;
  std::map<std::uint64_t, std::int64_t> lanes_on_page_;
};

/// Appends a single access: by a rule if all active lanes follow one, else lane by lane.
void AppendAccess(const AccessLine& access, const Operation& operation, trace::Accesses::Row row,
                  trace::Trace& trace);

}  // namespace orrery::ingest::nvbit_mem_trace
