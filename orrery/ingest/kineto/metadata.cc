#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/json/json_repair.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using Json = std::optional<JsonElement>;

constexpr std::int64_t kLatestBaseNs = std::int64_t{1} << 61;

// Columns of a device; its other members go to `extra`.
constexpr std::array<std::string_view, 6> kDeviceColumns{"id",     "name",         "totalGlobalMem",
                                                         "numSms", "computeMajor", "computeMinor"};

// An integer, also one that the file has as a string; -1 if there is none.
std::int64_t IntegerMember(const Json& object, std::string_view key) {
  const Json value = Field(object, key);
  const auto number = Integer(value);
  return number ? *number : ParseInteger(Text(value).value_or("")).value_or(-1);
}

std::int32_t SmallMember(const Json& object, std::string_view key) {
  return SmallOrUnknown(IntegerMember(object, key));
}

// A string as it is, any other value as JSON text.
std::string TextMember(const Json& object, std::string_view key) {
  const Json value = Field(object, key);
  const auto text = Text(value);
  return text ? std::string(*text) : value ? simdjson::to_string(*value) : std::string();
}

class MetadataReader {
 public:
  explicit MetadataReader(trace::Trace& trace) : trace_(trace) {}

  void Read(std::string_view object_text, std::string_view where) {
    JsonText json;
    simdjson::dom::object members;
    Json parsed = json.Parse(object_text);
    if (!parsed || parsed->get(members)) {
      JsonRepairs repairs;
      parsed = json.Parse(RepairJson(object_text, repairs));
      if (!parsed || parsed->get(members)) {
        trace_.problems.Loss(fmt::format("metadata {} the events that are not valid JSON", where));
        return;
      }
      LogRepairs(repairs, fmt::format("metadata {} the events", where), trace_.problems);
    }
    ReadMembers(members);
  }

  void ReadMembers(const simdjson::dom::object& members) {
    for (const auto member : members) {
      ReadMember(member.key, member.value);
    }
  }

  std::optional<std::int64_t> base_ns;

  void ReadMember(std::string_view key, const JsonElement& value) {
    if (key.empty() || key == "traceEvents") {
      return;
    }
    if ((key == "deviceProperties" || key == "computeProperties") && value.is_array()) {
      return ForEachElement(value, [&](const JsonElement& device) { ReadDevice(device); });
    }
    if (const auto number = Integer(value); number && key == "baseTimeNanoseconds") {
      const bool fits = *number >= 0 && *number <= kLatestBaseNs;
      trace_.problems.Note("baseTimeNanoseconds out of range, ignored", fits ? 0 : 1);
      base_ns = fits ? number : base_ns;
      return;
    }
    if (key == "distributedInfo" && value.is_object()) {
      ReadDistributed(value);
    }
    if (key == "ERROR" || key == "WARNING") {
      ReadLog(key, value);
    }
    Keep(key, value);
  }

 private:
  void Keep(std::string_view key, const JsonElement& value) {
    const auto text = Text(value);
    trace_.metadata.Append({.key = trace_.strings.Intern(key),
                            .value = text ? trace_.strings.Intern(*text)
                                          : trace_.strings.Intern(simdjson::to_string(value)),
                            .is_json = static_cast<std::uint8_t>(!text)});
    if (key == "host_name" && text) {
      trace_.info.host_name = *text;
    }
  }

  void ReadDevice(const JsonElement& device) {
    if (!device.is_object()) {
      trace_.problems.Note("device entry that is not an object");
      return;
    }
    trace_.devices.Append({.id = SmallMember(device, "id"),
                           .name = trace_.strings.Intern(TextMember(device, "name")),
                           .memory_bytes = IntegerMember(device, "totalGlobalMem"),
                           .multiprocessors = SmallMember(device, "numSms"),
                           .compute_major = SmallMember(device, "computeMajor"),
                           .compute_minor = SmallMember(device, "computeMinor"),
                           .extra = ExtraOf(simdjson::dom::object(device))});
  }

  StringId ExtraOf(const simdjson::dom::object& device) {
    std::string extra;
    for (const auto member : device) {
      if (std::ranges::find(kDeviceColumns, member.key) == kDeviceColumns.end()) {
        extra += fmt::format("{}{}: {}", extra.empty() ? "" : ", ", QuoteJson(member.key),
                             simdjson::to_string(member.value));
      }
    }
    return trace_.strings.Intern(extra);
  }

  void ReadDistributed(const JsonElement& info) {
    trace_.info.rank = SmallMember(info, "rank");
    trace_.info.world_size = SmallMember(info, "world_size");
    trace_.info.backend = TextMember(info, "backend");
    ForEachElement(Field(info, "pg_config"), [&](const JsonElement& group) {
      if (group.is_object()) {
        ReadGroup(group);
      }
    });
  }

  // Calls may have named a group already; the metadata have more of its properties.
  void ReadGroup(const JsonElement& group) {
    std::string description = TextMember(group, "pg_desc");
    description = description.empty() ? TextMember(group, "uid") : description;
    std::string backend = TextMember(group, "backend_config");
    backend = backend.empty() ? TextMember(group, "backend") : backend;
    const std::string ranks = WithoutBlanks(TextMember(group, "ranks"));
    trace::ProcessGroups::Row row{
        .name = trace_.strings.Intern(TextMember(group, "pg_name")),
        .description = trace_.strings.Intern(description),
        .backend = trace_.strings.Intern(backend),
        .num_ranks = SmallMember(group, "pg_size"),
        .ranks = trace_.strings.Intern(ranks),
        .ranks_cut = static_cast<std::uint8_t>(Contains(ranks, "...")),
    };
    trace::ProcessGroups& groups = trace_.process_groups;
    for (RowId known = 0; known < groups.size(); ++known) {
      if (groups.name[known] == row.name && groups.ranks[known] == row.ranks) {
        groups.backend[known] = row.backend;
        groups.description[known] = row.description;
        return;
      }
    }
    groups.Append(row);
  }

  void ReadLog(std::string_view key, const JsonElement& lines) {
    if (const auto first = Text(ElementAt(lines, 0))) {
      trace_.problems.Note(
          fmt::format("the profiler logged an {}", key == "ERROR" ? "error" : "alert"),
          static_cast<std::int64_t>(ArraySize(lines)), *first);
    }
  }

  trace::Trace& trace_;
};

}  // namespace

void ReadRankMetadata(const JsonElement& entry, trace::Trace& trace) {
  MetadataReader reader(trace);
  for (const std::string_view key : {"deviceProperties", "distributedInfo"}) {
    if (const Json value = Field(entry, key)) {
      reader.ReadMember(key, *value);
    }
  }
  simdjson::dom::object metadata;
  if (const Json found = Field(entry, "metadata"); found && !found->get(metadata)) {
    reader.ReadMembers(metadata);
  }
}

std::optional<std::int64_t> ReadMetadata(std::string_view head, std::string_view tail,
                                         trace::Trace& trace) {
  MetadataReader reader(trace);
  if (head.starts_with("\xEF\xBB\xBF")) {
    head.remove_prefix(3);
  }
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  // A bare list of events has no members at all.
  if (first == std::string_view::npos || head[first] != '{') {
    return reader.base_ns;
  }
  reader.Read(std::string(head.substr(first)) + "]}", "before");
  const std::size_t close = tail.find_last_not_of(" \n\r\t");
  if (close != std::string_view::npos) {
    reader.Read("{\"\": 0" + std::string(tail.substr(0, close + 1)), "after");
  }
  return reader.base_ns;
}

}  // namespace orrery::ingest::kineto
