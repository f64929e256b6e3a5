#include <string>
#include <string_view>
#include <vector>

#include "orrery/export/chrome_events.h"

namespace orrery::exporting {
namespace {

// Opens a metadata event up to its argument's value.
JsonWriter& BeginName(ChromeEvents& events, std::string_view what, std::string_view place,
                      std::string_view key) {
  JsonWriter& json = events.Begin();
  json.Raw("\"ph\":\"M\",\"name\":\"");
  json.Raw(what);
  json.Raw("\",");
  json.Raw(place);
  json.Raw(",\"ts\":0.000,\"args\":{\"");
  json.Raw(key);
  json.Raw("\":");
  return json;
}

void WriteText(ChromeEvents& events, std::string_view what, std::string_view place,
               std::string_view key, std::string_view text) {
  if (!text.empty()) {
    JsonWriter& json = BeginName(events, what, place, key);
    json.String(text);
    json.Raw("}}");
  }
}

void WriteSortIndex(ChromeEvents& events, std::string_view what, std::string_view place,
                    std::int64_t index) {
  JsonWriter& json = BeginName(events, what, place, "sort_index");
  json.Integer(index);
  json.Raw("}}");
}

// Ids that are text are names already.
bool IsText(std::string_view id) {
  return id.starts_with('"');
}

void WriteProcess(const ChromeProcess& process, ChromeEvents& events) {
  const std::string place = "\"pid\":" + process.pid + ",\"tid\":0";
  if (!IsText(process.pid)) {
    WriteText(events, "process_name", place, "name", process.name);
  }
  WriteText(events, "process_labels", place, "labels", process.labels);
  WriteSortIndex(events, "process_sort_index", place, process.sort_index);
}

}  // namespace

void WriteRowNames(const ChromeRows& rows, ChromeEvents& events) {
  std::vector<bool> process_is_used(rows.processes.size(), false);
  for (const ChromeThread& thread : rows.threads) {
    process_is_used[thread.process] = process_is_used[thread.process] || thread.is_used;
  }
  for (std::size_t i = 0; i < rows.processes.size(); ++i) {
    if (process_is_used[i]) {
      WriteProcess(rows.processes[i], events);
    }
  }
  for (const ChromeThread& thread : rows.threads) {
    if (thread.is_used) {
      if (!IsText(thread.tid)) {
        WriteText(events, "thread_name", thread.place, "name", thread.name);
      }
      WriteSortIndex(events, "thread_sort_index", thread.place, thread.sort_index);
    }
  }
}

}  // namespace orrery::exporting
