#include "orrery/ingest/kineto/metadata.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/base/decimal.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/json_repair.h"
#include "orrery/ingest/kineto/json_text.h"
#include "orrery/base/columns.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kLatestBaseNs = std::int64_t{1} << 61;

std::int64_t IntegerMember(const dom::object& object, std::string_view key,
                           std::int64_t otherwise) {
  dom::element value;
  std::int64_t number = 0;
  std::string_view text;
  if (object.at_key(key).get(value) != simdjson::SUCCESS) {
    return otherwise;
  }
  if (value.get(number) == simdjson::SUCCESS) {
    return number;
  }
  if (value.get(text) == simdjson::SUCCESS) {
    return ParseInteger(text).value_or(otherwise);
  }
  return otherwise;
}

std::int32_t SmallMember(const dom::object& object, std::string_view key) {
  const std::int64_t value = IntegerMember(object, key, -1);
  return value >= 0 && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

// A string as it is, all else as JSON text.
std::string TextMember(const dom::object& object, std::string_view key) {
  dom::element value;
  std::string_view text;
  if (object.at_key(key).get(value) != simdjson::SUCCESS) {
    return {};
  }
  return value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::to_string(value);
}

class MetadataReader {
 public:
  explicit MetadataReader(trace::Trace& trace) : trace_(trace) {}

  void Read(std::string_view object_text, std::string_view what) {
    dom::parser parser;
    dom::object members;
    if (parser.parse(object_text.data(), object_text.size()).get(members) != simdjson::SUCCESS) {
      JsonRepairs repairs;
      const std::string fixed = RepairJson(object_text, repairs);
      if (parser.parse(fixed).get(members) != simdjson::SUCCESS) {
        trace_.problems.Loss(fmt::format("metadata {} the events that are not valid JSON", what));
        return;
      }
      LogRepairs(repairs, fmt::format("metadata {} the events", what), trace_.problems);
    }
    for (const auto member : members) {
      ReadMember(member.key, member.value);
    }
  }

  TimeBase time_base;

 private:
  void ReadMember(std::string_view key, const dom::element& value) {
    dom::array list;
    dom::object object;
    std::int64_t number = 0;
    if (key.empty() || key == "traceEvents") {
      return;
    }
    if ((key == "deviceProperties" || key == "computeProperties") &&
        value.get(list) == simdjson::SUCCESS) {
      return ReadDevices(list);
    }
    if (key == "baseTimeNanoseconds" && value.get(number) == simdjson::SUCCESS) {
      return ReadBase(number);
    }
    if (key == "distributedInfo" && value.get(object) == simdjson::SUCCESS) {
      ReadDistributed(object);
    }
    if ((key == "ERROR" || key == "WARNING") && value.get(list) == simdjson::SUCCESS) {
      ReadLog(key, list);
    }
    Keep(key, value);
  }

  void Keep(std::string_view key, const dom::element& value) {
    std::string_view text;
    const bool is_text = value.get(text) == simdjson::SUCCESS;
    const StringId stored =
        is_text ? trace_.strings.Intern(text) : trace_.strings.Intern(simdjson::to_string(value));
    trace_.metadata.Append({.key = trace_.strings.Intern(key),
                            .value = stored,
                            .is_json = static_cast<std::uint8_t>(!is_text)});
    if (key == "host_name" && is_text) {
      trace_.info.host_name = text;
    }
  }

  void ReadBase(std::int64_t base_ns) {
    if (base_ns < 0 || base_ns > kLatestBaseNs) {
      trace_.problems.Note("baseTimeNanoseconds out of range, ignored");
      return;
    }
    time_base.base_ns = base_ns;
  }

  void ReadDevices(const dom::array& list) {
    for (const dom::element entry : list) {
      dom::object device;
      if (entry.get(device) != simdjson::SUCCESS) {
        trace_.problems.Note("device entry that is not an object");
        continue;
      }
      trace_.devices.Append({.id = SmallMember(device, "id"),
                             .name = trace_.strings.Intern(TextMember(device, "name")),
                             .memory_bytes = IntegerMember(device, "totalGlobalMem", -1),
                             .multiprocessors = SmallMember(device, "numSms"),
                             .compute_major = SmallMember(device, "computeMajor"),
                             .compute_minor = SmallMember(device, "computeMinor"),
                             .extra = ExtraOf(device)});
    }
  }

  StringId ExtraOf(const dom::object& device) {
    std::string extra;
    for (const auto member : device) {
      if (member.key == "id" || member.key == "name" || member.key == "totalGlobalMem" ||
          member.key == "numSms" || member.key == "computeMajor" || member.key == "computeMinor") {
        continue;
      }
      extra += fmt::format("{}{}: {}", extra.empty() ? "" : ", ", Quoted(member.key),
                           simdjson::to_string(member.value));
    }
    return trace_.strings.Intern(extra);
  }

  void ReadDistributed(const dom::object& info) {
    trace_.info.rank = SmallMember(info, "rank");
    trace_.info.world_size = SmallMember(info, "world_size");
    trace_.info.backend = TextMember(info, "backend");
    dom::array groups;
    if (info.at_key("pg_config").get(groups) == simdjson::SUCCESS) {
      for (const dom::element entry : groups) {
        dom::object group;
        if (entry.get(group) == simdjson::SUCCESS) {
          ReadGroup(group);
        }
      }
    }
  }

  // Calls of a group may have named it already; the frame knows more of it.
  void ReadGroup(const dom::object& group) {
    std::string description = TextMember(group, "pg_desc");
    description = description.empty() ? TextMember(group, "uid") : description;
    const std::string ranks = WithoutBlanks(TextMember(group, "ranks"));
    trace::ProcessGroups::Row row{
        .name = trace_.strings.Intern(TextMember(group, "pg_name")),
        .description = trace_.strings.Intern(description),
        .backend = trace_.strings.Intern(BackendOf(group)),
        .num_ranks = SmallMember(group, "pg_size"),
        .ranks = trace_.strings.Intern(ranks),
        .ranks_cut = static_cast<std::uint8_t>(ranks.find("...") != std::string::npos),
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

  static std::string BackendOf(const dom::object& group) {
    const std::string config = TextMember(group, "backend_config");
    return config.empty() ? TextMember(group, "backend") : config;
  }

  void ReadLog(std::string_view key, const dom::array& lines) {
    std::string_view first;
    if (lines.at(0).get(first) == simdjson::SUCCESS) {
      trace_.problems.Note(
          fmt::format("the profiler logged an {}", key == "ERROR" ? "error" : "alert"),
          static_cast<std::int64_t>(lines.size()), first);
    }
  }

  trace::Trace& trace_;
};

}  // namespace

TimeBase ReadMetadata(std::string_view head, std::string_view tail, trace::Trace& trace) {
  MetadataReader reader(trace);
  if (head.starts_with("\xEF\xBB\xBF")) {
    head.remove_prefix(3);
  }
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  // A bare list of events has no members at all.
  if (first == std::string_view::npos || head[first] != '{') {
    return reader.time_base;
  }
  reader.Read(std::string(head.substr(first)) + "]}", "before");
  const std::size_t close = tail.find_last_not_of(" \n\r\t");
  if (close != std::string_view::npos) {
    reader.Read("{\"\": 0" + std::string(tail.substr(0, close + 1)), "behind");
  }
  return reader.time_base;
}

}  // namespace orrery::ingest::kineto
