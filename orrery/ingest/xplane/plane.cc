#include "orrery/ingest/xplane/plane.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/ingest/hlo.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/xplane/message.h"
#include "orrery/ingest/xplane/stat.h"

namespace orrery::ingest::xplane {
namespace {

// Numbers of the fields, message by message.
enum PlaneField : std::uint32_t {
  kPlaneId = 1,
  kPlaneName,
  kPlaneLine,
  kPlaneEventKind,
  kPlaneStatName,
  kPlaneStat
};

enum LineField : std::uint32_t {
  kLineId = 1,
  kLineName,
  kLineTimestamp,
  kLineEvent,
  kLineDisplayId = 10,
  kLineDisplayName
};

enum EventField : std::uint32_t {
  kEventKind = 1,
  kEventOffset,
  kEventDuration,
  kEventStat,
  kEventOccurrences
};

enum KindField : std::uint32_t { kKindName = 2, kKindDisplayName = 4, kKindStat = 5 };

enum MapField : std::uint32_t { kMapKey = 1, kMapValue = 2 };

constexpr std::uint32_t kStatNameText = 2;

// The last field of a message with this number that is bytes.
std::string_view BytesField(std::string_view message, std::uint32_t number) {
  std::string_view bytes;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    bytes = field->number == number && field->is_bytes ? field->bytes : bytes;
  }
  return bytes;
}

std::int64_t KeyOf(std::string_view map_entry) {
  std::int64_t key = 0;
  MessageReader reader(map_entry);
  while (const auto field = reader.Next()) {
    key = field->number == kMapKey && !field->is_bytes ? field->integer() : key;
  }
  return key;
}

EventKind ReadKind(std::string_view message) {
  EventKind kind;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (!field->is_bytes) {
      continue;
    }
    if (field->number == kKindName) {
      kind.name = field->bytes;
    } else if (field->number == kKindDisplayName) {
      kind.display_name = field->bytes;
    } else if (field->number == kKindStat) {
      kind.stats.push_back(ReadStat(field->bytes));
    }
  }
  return kind;
}

// A truncated line still has complete events; another truncated field is worth nothing.
void TakePlaneField(const Field& field, Plane& plane) {
  if (field.is_cut && field.number != kPlaneLine) {
    return;
  }
  switch (field.number) {
    case kPlaneName:
      plane.name = field.bytes;
      break;
    case kPlaneLine:
      plane.lines.push_back(field.bytes);
      break;
    case kPlaneEventKind:
      plane.kinds[KeyOf(field.bytes)] = ReadKind(BytesField(field.bytes, kMapValue));
      break;
    case kPlaneStatName:
      plane.stat_names[KeyOf(field.bytes)] =
          BytesField(BytesField(field.bytes, kMapValue), kStatNameText);
      break;
    case kPlaneStat:
      plane.stats.push_back(ReadStat(field.bytes));
      break;
    default:
      break;
  }
}

// "all-reduce.3" → "all-reduce".
std::string_view OperationOf(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool has_number =
      end != std::string_view::npos && end + 1 < name.size() && name[end] == '.';
  return has_number ? name.substr(0, end) : name;
}

constexpr std::int64_t kLargestTime = std::int64_t{1} << 61;

// Half up, also below zero.
std::int64_t ToNanoseconds(std::int64_t picoseconds) {
  const std::int64_t shifted = picoseconds + 500;
  return shifted / 1000 - (shifted % 1000 < 0 ? 1 : 0);
}

}  // namespace

Plane ReadPlane(std::string_view message) {
  Plane plane;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->is_bytes) {
      TakePlaneField(*field, plane);
    } else if (field->number == kPlaneId) {
      plane.id = field->integer();
    }
  }
  plane.is_damaged = reader.is_damaged();
  return plane;
}

std::string_view PlaneName(std::string_view message) {
  return BytesField(message, kPlaneName);
}

Line ReadLine(std::string_view message) {
  Line line;
  std::string_view display_name;
  std::int64_t display_id = 0;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->is_bytes) {
      line.name = field->number == kLineName ? field->bytes : line.name;
      display_name = field->number == kLineDisplayName ? field->bytes : display_name;
      continue;
    }
    line.id = field->number == kLineId ? field->integer() : line.id;
    display_id = field->number == kLineDisplayId ? field->integer() : display_id;
    line.timestamp_ns = field->number == kLineTimestamp ? field->integer() : line.timestamp_ns;
  }
  line.name = display_name.empty() ? line.name : display_name;
  line.id = display_id == 0 ? line.id : display_id;
  line.is_damaged = reader.is_damaged();
  return line;
}

std::vector<std::string_view> EventsOf(std::string_view line) {
  std::vector<std::string_view> events;
  MessageReader reader(line);
  while (const auto field = reader.Next()) {
    if (field->number == kLineEvent && field->is_bytes && !field->is_cut) {
      events.push_back(field->bytes);
    }
  }
  return events;
}

bool ReadEvent(std::string_view message, Event& event) {
  std::vector<Stat> stats = std::move(event.stats);  // keeps its memory
  stats.clear();
  event = {};
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->is_bytes) {
      if (field->number == kEventStat) {
        stats.push_back(ReadStat(field->bytes));
      }
      continue;
    }
    event.kind = field->number == kEventKind ? field->integer() : event.kind;
    event.offset_ps = field->number == kEventOffset ? field->integer() : event.offset_ps;
    event.duration_ps = field->number == kEventDuration ? field->integer() : event.duration_ps;
    event.is_aggregate |= field->number == kEventOccurrences;
  }
  event.stats = std::move(stats);
  return !reader.is_damaged();
}

const EventKindInfo& EventKinds::At(std::int64_t kind) {
  const auto [entry, is_new] = infos_.try_emplace(kind);
  if (is_new) {
    EventKindInfo info = Describe(kind);
    info.name = strings_.Intern(info.short_name.empty() ? fmt::format("event kind {}", kind)
                                                        : CleanText(info.short_name));
    info.extra = strings_.Intern(info.fields);
    entry.value() = std::move(info);
  }
  return entry->second;
}

EventKindInfo EventKinds::Describe(std::int64_t kind) const {
  EventKindInfo info;
  const auto found = plane_.kinds.find(kind);
  if (found == plane_.kinds.end()) {
    info.is_known = false;
    return info;
  }
  const EventKind& described = found->second;
  info.short_name = described.display_name.empty() ? described.name : described.display_name;
  JsonFields fields;
  if (!described.display_name.empty() && described.display_name != described.name) {
    info.long_name = described.name;
    fields.Add("long_name", CleanText(described.name));
  }
  for (const Stat& stat : described.stats) {
    AddField(stat, plane_.stat_names, fields);
    const std::string_view name = NameOf(stat, plane_.stat_names);
    if (name == "hlo_category") {
      info.category = TextOf(stat, plane_.stat_names);
    } else if (name == "bytes_accessed") {
      info.bytes = std::max<std::int64_t>(IntegerOf(stat).value_or(-1), -1);
    } else if (name == "shape_with_layout") {
      info.shape = ParseHloShape(TextOf(stat, plane_.stat_names));
    }
  }
  info.fields = fields.text();
  if (info.category.empty()) {
    info.category = OperationOf(info.short_name);
  }
  info.hlo = ParseHloCategory(info.category);
  return info;
}

bool IsPlausibleTime(std::int64_t time) {
  return time > -kLargestTime && time < kLargestTime;
}

std::optional<Interval> IntervalOf(std::int64_t origin_ns, std::int64_t offset_ps,
                                   std::int64_t duration_ps) {
  if (!IsPlausibleTime(origin_ns) || !IsPlausibleTime(offset_ps) || !IsPlausibleTime(duration_ps)) {
    return std::nullopt;
  }
  const std::int64_t begin = ToNanoseconds(offset_ps);
  const std::int64_t end = ToNanoseconds(offset_ps + duration_ps);
  return Interval{.begin_ns = origin_ns + begin, .duration_ns = end - begin};
}

AsyncPairs PairAsync(std::vector<AsyncHalf> halves) {
  // Clock corrections of the profiler collapse operations into one point in time, so starts sort
  // before ends.
  std::ranges::stable_sort(
      halves, {}, [](const AsyncHalf& half) { return std::pair(half.begin_ns, !half.is_start); });
  AsyncPairs pairs;
  std::map<std::string_view, const AsyncHalf*> open;
  for (const AsyncHalf& half : halves) {
    if (half.is_start) {
      const AsyncHalf*& slot = open[half.start_name];
      pairs.num_unpaired += slot == nullptr ? 0 : 1;
      slot = &half;
      continue;
    }
    const auto start = open.find(half.start_name);
    if (start == open.end()) {
      ++pairs.num_unpaired;
      continue;
    }
    pairs.works.push_back({.begin_ns = start->second->begin_ns,
                           .end_ns = std::max(half.end_ns, start->second->begin_ns),
                           .start_kind = start->second->kind});
    open.erase(start);
  }
  pairs.num_unpaired += static_cast<std::int64_t>(open.size());
  return pairs;
}

std::string StartOfDone(std::string_view name, std::string_view long_name) {
  constexpr std::string_view kDone = "-done";
  const std::size_t call = long_name.find("-done(");
  const std::size_t operand = call == std::string_view::npos ? call : long_name.find('%', call);
  if (operand != std::string_view::npos) {
    const std::string_view rest = long_name.substr(operand + 1);
    return std::string(rest.substr(0, rest.find_first_of("), ")));
  }
  std::string start(name);
  if (const std::size_t at = start.find(kDone); at != std::string::npos) {
    start.replace(at, kDone.size(), "-start");
  }
  return start;
}

}  // namespace orrery::ingest::xplane
