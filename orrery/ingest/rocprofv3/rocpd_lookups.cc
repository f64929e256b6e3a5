#include "orrery/ingest/rocprofv3/rocpd_lookups.h"

#include "orrery/ingest/json_value.h"

namespace orrery::ingest::rocprofv3 {
namespace {

template <typename Value>
Value FoundIn(const tsl::robin_map<std::int64_t, Value>& map, std::int64_t id) {
  const auto found = map.find(id);
  return found == map.end() ? Value{} : found->second;
}

void LoadKernels(RocpdTables& tables, RocpdLookups& lookups) {
  enum : std::size_t { kId, kDisplayName, kName, kRegisters };

  tables.ForEachRow("rocpd_info_kernel_symbol",
                    {"id", "display_name", "kernel_name", "arch_vgpr_count"}, [&](TableScan& row) {
                      std::string name(row.Text(kDisplayName));
                      if (name.empty()) {
                        name = row.Text(kName);
                      }
                      lookups.kernels[row.Integer(kId, -1)] = {
                          .name = std::move(name), .registers = row.Integer(kRegisters, -1)};
                    });
}

// Only markers have a message; other calls are named by their function.
void LoadEvents(RocpdTables& tables, RocpdLookups& lookups) {
  enum : std::size_t { kId, kCategory, kStack, kExtra };

  constexpr std::string_view kNothing = "{}";
  JsonText json;
  tables.ForEachRow("rocpd_event", {"id", "category_id", "stack_id", "extdata"},
                    [&](TableScan& row) {
                      const std::int64_t id = row.Integer(kId, -1);
                      lookups.events[id] = {.correlation = row.Integer(kStack, -1),
                                            .category = row.Integer(kCategory, -1)};
                      const std::string_view extra = row.Text(kExtra);
                      if (extra.empty() || extra == kNothing) {
                        return;
                      }
                      if (const auto message = Text(Field(json.Parse(extra), "message"))) {
                        lookups.messages[id] = std::string(*message);
                      }
                    });
}

void LoadTracks(RocpdTables& tables, RocpdLookups& lookups) {
  enum : std::size_t { kId, kProcess, kThread, kAgent, kQueue, kStream };

  tables.ForEachRow("rocpd_track", {"id", "pid", "tid", "agent_id", "queue_id", "stream_id"},
                    [&](TableScan& row) {
                      lookups.places[row.Integer(kId, -1)] = {.process = row.Integer(kProcess, -1),
                                                              .thread = row.Integer(kThread, -1),
                                                              .agent = row.Integer(kAgent, -1),
                                                              .queue = row.Integer(kQueue, -1),
                                                              .stream = row.Integer(kStream, -1)};
                    });
}

}  // namespace

std::string_view RocpdLookups::String(std::int64_t id) const {
  const auto found = strings.find(id);
  return found == strings.end() ? std::string_view() : found->second;
}

RocpdEvent RocpdLookups::Event(std::int64_t id) const {
  return FoundIn(events, id);
}

RocpdPlace RocpdLookups::Place(std::int64_t track) const {
  return FoundIn(places, track);
}

std::optional<std::int64_t> RocpdLookups::Time(std::int64_t id) const {
  const auto found = times_ns.find(id);
  return found == times_ns.end() ? std::nullopt : std::optional(found->second);
}

RocpdLookups LoadLookups(RocpdTables& tables) {
  RocpdLookups lookups;
  tables.ForEachRow("rocpd_string", {"id", "string"}, [&](TableScan& row) {
    lookups.strings[row.Integer(0, -1)] = std::string(row.Text(1));
  });
  tables.ForEachRow("rocpd_timestamp", {"id", "value"}, [&](TableScan& row) {
    lookups.times_ns[row.Integer(0, -1)] = row.Integer(1, -1);
  });
  LoadKernels(tables, lookups);
  LoadEvents(tables, lookups);
  LoadTracks(tables, lookups);
  return lookups;
}

}  // namespace orrery::ingest::rocprofv3
