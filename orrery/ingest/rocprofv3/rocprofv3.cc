#include "orrery/ingest/rocprofv3/rocprofv3.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/byte_source.h"
#include "orrery/ingest/csv_rows.h"
#include "orrery/ingest/json_stream.h"
#include "orrery/ingest/json_value.h"
#include "orrery/ingest/rocprofv3/csv_tables.h"
#include "orrery/ingest/rocprofv3/json_tool.h"
#include "orrery/ingest/rocprofv3/process.h"
#include "orrery/ingest/rocprofv3/rocpd.h"
#include "orrery/ingest/sqlite_database.h"

namespace orrery::ingest::rocprofv3 {
namespace {

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

bool IsDatabase(const InputFile& file) {
  const auto database = SqliteDatabase::Open(file);
  return database && IsRocpd(*database);
}

bool Matches(const InputFile& file) {
  if (LooksLikeSqlite(file.head())) {
    return IsDatabase(file);
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
      content.problems.Loss("process that is not sound JSON");
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
                "JSON of rocprofv3 without a whole process: the file is cut or damaged");
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

void Complete(trace::Trace& trace, const ReadOptions& options) {
  CompleteProcess(trace, options.step_marker);
}

Result<FileContent> ReadCsv(const InputFile& file) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back(NewTrace(file, "rocprofv3 CSV"));
  CsvRows rows(*source);
  ORRERY_TRY([[maybe_unused]] const bool has_header, rows.ReadHeader());
  ProcessRows process(trace);
  ORRERY_TRY_STATUS(ReadTable(TableOf(rows), rows, process, trace.problems));
  process.Finish();
  if (const std::string damage = source->damage(); !damage.empty()) {
    trace.problems.Loss("file that ends early", 1, damage);
  }
  content.part = Part{.recording = RecordingOf(file.path()), .complete = Complete};
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

Result<FileContent> ReadContent(const InputFile& file, const ReadOptions& options) {
  if (LooksLikeSqlite(file.head())) {
    return ReadDatabase(file, options);
  }
  return IsJson(file) ? ReadJson(file, options) : ReadCsv(file);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  auto content = ReadContent(file, options);
  if (!content) {
    return FailWithin(file.path(), content);
  }
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "rocprofv3", .matches = Matches, .read = Read};
  return kFormat;
}

}  // namespace orrery::ingest::rocprofv3
