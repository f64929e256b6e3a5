#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/csv_rows.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_stream.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/rocprofv3/process.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {
namespace {

/// The kind of table in a CSV file of rocprofv3, by its columns.
enum class CsvTable { kNone, kKernels, kCopies, kAllocations, kCalls, kAgents };

// "Agent 4", "4" or nothing, which frees have.
std::int32_t AgentNumber(std::string_view text) {
  const std::size_t blank = text.find_last_of(' ');
  return SmallOrUnknown(
      DecimalOrHex(blank == std::string_view::npos ? text : text.substr(blank + 1)).value_or(-1));
}

std::int64_t FirstOf(const CsvRows& rows, std::string_view column, std::string_view other) {
  const auto value = rows.Integer(column);
  return value ? *value : rows.Integer(other).value_or(-1);
}

void AddKernel(const CsvRows& rows, const TimeSpan& time, ProcessRows& process) {
  const auto number = [&](std::string_view column) { return rows.Integer(column).value_or(-1); };
  process.Add(
      Dispatch{.time = time,
               .agent = AgentNumber(rows.Text("Agent_Id")),
               .stream = FirstOf(rows, "Stream_Id", "Queue_Id"),
               .name = rows.Text("Kernel_Name"),
               .work_items = {number("Grid_Size_X"), number("Grid_Size_Y"), number("Grid_Size_Z")},
               .workgroup = {number("Workgroup_Size_X"), number("Workgroup_Size_Y"),
                             number("Workgroup_Size_Z")},
               .registers = number("VGPR_Count"),
               .shared_bytes = FirstOf(rows, "LDS_Block_Size", "Group_Segment_Size")});
}

// False for an allocation that cannot be used.
bool AddAllocation(const CsvRows& rows, const TimeSpan& time, ProcessRows& process) {
  const auto bytes = rows.Integer("Allocation_Size");
  const auto address = rows.Integer("Address");
  if (!bytes || !address || *bytes < 0 || *address < 0) {
    return false;
  }
  process.Add(Allocation{.time = time,
                         .operation = rows.Text("Operation"),
                         .agent = AgentNumber(rows.Text("Agent_Id")),
                         .bytes = *bytes,
                         .address = *address});
  return true;
}

void AddAgent(const CsvRows& rows, ProcessRows& process) {
  const std::string_view product = rows.Text("Product_Name");
  process.Add(Agent{.number = AgentNumber(rows.Text(
                        rows.HasColumn("Logical_Node_Id") ? "Logical_Node_Id" : "Node_Id")),
                    .is_gpu = rows.Text("Agent_Type") == "GPU",
                    .name = product.empty() ? rows.Text("Name") : product,
                    .compute_units = AgentNumber(rows.Text("Cu_Count"))});
}

bool AddRow(CsvTable table, const CsvRows& rows, ProcessRows& process) {
  if (table == CsvTable::kAgents) {
    AddAgent(rows, process);
    return true;
  }
  const auto time = MakeTimeSpan(rows.Integer("Start_Timestamp"), rows.Integer("End_Timestamp"),
                                 rows.Integer("Correlation_Id").value_or(-1));
  if (!time) {
    return false;
  }
  switch (table) {
    case CsvTable::kKernels:
      AddKernel(rows, *time, process);
      return true;
    case CsvTable::kCopies:
      process.Add(Copy{.time = *time,
                       .direction = rows.Text("Direction"),
                       .source = AgentNumber(rows.Text("Source_Agent_Id")),
                       .destination = AgentNumber(rows.Text("Destination_Agent_Id")),
                       .stream = rows.Integer("Stream_Id").value_or(0),
                       .bytes = FirstOf(rows, "Bytes", "Size")});
      return true;
    case CsvTable::kCalls:
      process.Add(Call{.time = *time,
                       .domain = rows.Text("Domain"),
                       .function = rows.Text("Function"),
                       .process = rows.Integer("Process_Id").value_or(0),
                       .thread = rows.Integer("Thread_Id").value_or(0)});
      return true;
    case CsvTable::kAllocations:
      return AddAllocation(rows, *time, process);
    case CsvTable::kAgents:
    case CsvTable::kNone:
      break;
  }
  return false;
}

CsvTable TableOf(const CsvRows& rows) {
  const auto has = [&](std::string_view column) { return rows.HasColumn(column); };
  if (has("Agent_Type") && has("Node_Id")) {
    return CsvTable::kAgents;
  }
  if (!has("Start_Timestamp") || !has("End_Timestamp") || has("Counter_Name")) {
    return CsvTable::kNone;
  }
  return has("Kernel_Name") && has("Agent_Id")        ? CsvTable::kKernels
         : has("Direction")                           ? CsvTable::kCopies
         : has("Allocation_Size") && has("Operation") ? CsvTable::kAllocations
         : has("Domain") && has("Function")           ? CsvTable::kCalls
                                                      : CsvTable::kNone;
}

constexpr std::string_view kRoot = "rocprofiler-sdk-tool";

// Of one process, as one text. What simdjson takes ends at 4 GiB.
constexpr std::size_t kMaxProcessBytes = std::size_t{3} << 30;

bool IsJson(const InputFile& file) {
  const std::string_view head = file.head();
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  return first != std::string_view::npos && head[first] == '{' &&
         head.substr(first, 256).find(kRoot) != std::string_view::npos;
}

CsvTable CsvTableOf(const InputFile& file) {
  const std::string_view head = file.head();
  const std::unique_ptr<ByteSource> source = OpenMemory(head.substr(0, head.find('\n')));
  CsvRows rows(*source);
  return rows.ReadHeader().value_or(false) ? TableOf(rows) : CsvTable::kNone;
}

bool Matches(const InputFile& file) {
  if (LooksLikeSqlite(file.head())) {
    const auto database = SqliteDatabase::Open(file);
    return database && IsRocpd(*database);
  }
  return IsJson(file) || CsvTableOf(file) != CsvTable::kNone;
}

trace::Trace NewTrace(const InputFile& file, std::string_view format) {
  trace::Trace trace;
  trace.info.format = format;
  trace.info.producer = "rocprofv3";
  trace.info.files = {file.path()};
  return trace;
}

// One element of the list is one process.
Status ReadProcesses(JsonStream& stream, const InputFile& file, const ReadOptions& options,
                     FileContent& content) {
  ORRERY_TRY_STATUS(stream.EnterArray());
  JsonText json;
  while (true) {
    ORRERY_TRY(const auto element, stream.NextElement());
    if (!element) {
      return {};
    }
    if (const auto process = json.Parse(*element)) {
      trace::Trace& trace = content.traces.emplace_back(NewTrace(file, "rocprofv3 JSON"));
      ReadProcess(*process, trace);
      CompleteProcess(trace, options.step_marker);
    } else {
      content.problems.Loss("process that is not valid JSON");
    }
  }
}

Result<FileContent> ReadJson(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  JsonStream stream(*source, {.max_value_bytes = kMaxProcessBytes});
  ORRERY_TRY_STATUS(stream.EnterObject());
  FileContent content;
  while (true) {
    ORRERY_TRY(const auto key, stream.NextKey());
    if (!key) {
      break;
    }
    if (*key == kRoot) {
      ORRERY_TRY_STATUS(ReadProcesses(stream, file, options, content));
    }
  }
  if (content.traces.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "JSON of rocprofv3 without a complete process: the file is truncated or damaged");
  }
  return content;
}

// "run/908_kernel_trace.csv" belongs to "run/908_".
std::string RecordingOf(std::string_view path) {
  constexpr std::array<std::string_view, 9> kTables{
      "kernel_trace",   "memory_copy_trace", "memory_allocation_trace",
      "hip_api_trace",  "hsa_api_trace",     "marker_api_trace",
      "rccl_api_trace", "hip_trace",         "agent_info"};
  const std::size_t name = path.find_last_of('/') + 1;
  for (const std::string_view table : kTables) {
    const std::size_t at = path.find(table, name);
    if (at != std::string_view::npos) {
      return std::string(path.substr(0, at));
    }
  }
  return std::string(path);
}

Result<FileContent> ReadCsv(const InputFile& file) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back(NewTrace(file, "rocprofv3 CSV"));
  CsvRows rows(*source);
  ORRERY_TRY([[maybe_unused]] const bool has_header, rows.ReadHeader());
  ProcessRows process(trace);
  const CsvTable table = TableOf(rows);
  while (true) {
    ORRERY_TRY(const bool has_row, rows.Next());
    if (!has_row) {
      break;
    }
    if (!AddRow(table, rows, process)) {
      trace.problems.Loss("invalid row", 1, fmt::format("line {}", rows.line()));
    }
  }
  process.Finish();
  if (const std::string damage = source->damage(); !damage.empty()) {
    trace.problems.Loss("file that ends early", 1, damage);
  }
  content.part = Part{.recording = RecordingOf(file.path()),
                      .complete = [](trace::Trace& whole, const ReadOptions& options) {
                        CompleteProcess(whole, options.step_marker);
                      }};
  return content;
}

Result<FileContent> ReadDatabase(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const SqliteDatabase database, SqliteDatabase::Open(file));
  ORRERY_TRY(const std::vector<std::string> processes, RocpdProcesses(database));
  FileContent content;
  for (const std::string& process : processes) {
    trace::Trace& trace = content.traces.emplace_back(NewTrace(file, "rocpd SQLite"));
    ORRERY_TRY_STATUS(ReadRocpdProcess(database, process, trace));
    if (!database.damage().empty()) {
      trace.problems.Loss("the SQLite database is incomplete", 1, database.damage());
    }
    CompleteProcess(trace, options.step_marker);
  }
  return content;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  if (LooksLikeSqlite(file.head())) {
    return ReadDatabase(file, options);
  }
  return IsJson(file) ? ReadJson(file, options) : ReadCsv(file);
}

}  // namespace

// The output of AMD's rocprofv3: tables as CSV (kernels, copies, allocations, calls, agents), JSON
// and the SQLite database (rocpd). CSV files of one process share the begin of their names and
// become one trace. Allocations are those of the driver; frees that give only an address are
// resolved.
constinit const Format kFormat{.name = "rocprofv3", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::rocprofv3
