#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {

/// A processor of the machine, CPU or GPU, by the number that records name it with.
struct Agent {
  std::int32_t number = -1;
  bool is_gpu = false;
  std::string_view name;
  std::int64_t memory_bytes = -1;
  std::int32_t compute_units = -1;
};

/// When something happened and which call requested it.
struct TimeSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t correlation = -1;
};

/// Returns nothing where times are missing or invalid.
[[nodiscard]] std::optional<TimeSpan> MakeTimeSpan(std::optional<std::int64_t> begin_ns,
                                                   std::optional<std::int64_t> end_ns,
                                                   std::int64_t correlation);

struct Dispatch {
  TimeSpan time;
  std::int32_t agent = -1;
  std::int64_t stream = -1;  // the queue where streams were not recorded
  std::string_view name;
  std::array<std::int64_t, 3> work_items = {};  // of the whole grid
  std::array<std::int64_t, 3> workgroup = {};
  std::int64_t registers = -1;
  std::int64_t shared_bytes = -1;
};

struct Copy {
  TimeSpan time;
  std::string_view direction;  // "MEMORY_COPY_HOST_TO_DEVICE", or without the first two words
  std::int32_t source = -1;
  std::int32_t destination = -1;
  std::int64_t stream = 0;
  std::int64_t bytes = -1;
};

struct Allocation {
  TimeSpan time;
  std::string_view operation;  // "MEMORY_ALLOCATION_ALLOCATE" and its like
  std::int32_t agent = -1;
  std::int64_t bytes = 0;
  std::int64_t address = 0;
};

struct Call {
  TimeSpan time;
  std::string_view domain;
  std::string_view function;
  std::int64_t process = 0;
  std::int64_t thread = 0;
};

/// Memory that begins or ends.
struct MemoryStep {
  std::int64_t time_ns = 0;
  bool is_allocation = false;
  bool is_virtual = false;
  std::int32_t agent = -1;
  std::int64_t bytes = 0;
  std::uint64_t address = 0;
};

/// Turns the records of one process into rows. Rows are not in order and links are not set before
/// CompleteProcess.
class ProcessRows {
 public:
  explicit ProcessRows(trace::Trace& trace) : trace_(trace) {}

  void Add(const Agent& agent);
  void Add(const Dispatch& dispatch);
  void Add(const Copy& copy);
  void Add(const Allocation& allocation);
  void Add(const Call& call);

  /// Makes objects of the allocations and frees; call it once, when all records are in.
  void Finish();

 private:
  RowId DeviceTrack(std::int32_t device, std::int64_t stream);
  RowId ShapeOf(const Dispatch& dispatch);

  trace::Trace& trace_;
  std::vector<MemoryStep> steps_;
  std::map<std::pair<std::int64_t, std::int64_t>, RowId> device_tracks_;
  std::map<std::pair<std::int64_t, std::int64_t>, RowId> host_tracks_;
  std::map<std::array<std::int64_t, 8>, RowId> shapes_;
};

/// Completes the trace of a process: memory is distinguished by whether its agent is a GPU (it is,
/// if kernels ran on it), then FinishTrace.
void CompleteProcess(trace::Trace& trace, std::string_view step_marker);

/// Reads one element of "rocprofiler-sdk-tool", a process, into `trace`; kinds of records that
/// Orrery has no table for are counted.
void ReadProcess(const JsonElement& process, trace::Trace& trace);

/// Returns true if rocprofv3 wrote the database, by the names of its tables.
[[nodiscard]] bool IsRocpd(const SqliteDatabase& database);

/// Returns the endings of the names of tables, one for each process in the database; fails where
/// there is no table of records.
[[nodiscard]] Result<std::vector<std::string>> RocpdProcesses(const SqliteDatabase& database);

/// Reads the tables of one process into `trace`. The tables themselves are read and not the views
/// that rocpd defines over them: a view is a program of whoever wrote the file. Fails where a table
/// has no columns of times.
[[nodiscard]] Status ReadRocpdProcess(const SqliteDatabase& database, const std::string& suffix,
                                      trace::Trace& trace);

}  // namespace orrery::ingest::rocprofv3
