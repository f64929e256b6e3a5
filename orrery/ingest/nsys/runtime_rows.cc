#include "orrery/ingest/nsys/runtime_rows.h"

#include <array>
#include <cctype>
#include <map>

#include "orrery/ingest/nsys/json_fields.h"

namespace orrery::ingest::nsys {
namespace {

using trace::ApiKind;

constexpr std::string_view kRuntimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME";

ApiKind ApiOf(std::int64_t event_class, std::string_view call) {
  switch (event_class) {
    case 0:
      return ApiKind::kRuntime;
    case 1:
      return ApiKind::kDriver;
    default:
      return ApiOfName(call);
  }
}

// What one StringIds row means as a call, for one rank.
struct CallName {
  StringId name = StringId::kEmpty;
  StringId extra = StringId::kEmpty;
};

class CallNames {
 public:
  explicit CallNames(const ExportContext& context) : context_(context) {}

  const CallName& Of(RankBuilder& rank, std::int64_t string_id) {
    const auto [entry, is_new] = names_[&rank].try_emplace(string_id);
    if (is_new) {
      const std::string_view symbol = context_.String(string_id);
      const std::string_view name = WithoutInterfaceVersion(symbol);
      JsonFields extra;
      if (name != symbol) {
        extra.AddText("symbol", symbol);
      }
      entry.value() = {.name = rank.Intern(name), .extra = rank.Intern(extra.text())};
    }
    return entry->second;
  }

 private:
  const ExportContext& context_;
  std::map<RankBuilder*, tsl::robin_map<std::int64_t, CallName>> names_;
};

enum RuntimeColumn : std::size_t { kStart, kEnd, kClass, kThread, kCorrelation, kName, kReturn };

StringId ForeignExtra(RankBuilder& rank, StringId extra, std::int64_t correlation) {
  JsonFields fields;
  fields.Add("correlation", correlation);
  std::string text(rank.trace.Text(extra));
  text += (text.empty() ? "" : ",") + fields.text();
  return rank.Intern(text);
}

}  // namespace

std::string_view WithoutInterfaceVersion(std::string_view call) {
  const std::size_t last_letter = call.find_last_not_of("0123456789");
  if (last_letter == std::string_view::npos || last_letter < 2) {
    return call;
  }
  // A version has four digits or more (3020 is 3.2); "_v2" is part of a name.
  const bool is_version = call[last_letter] == 'v' && call[last_letter - 1] == '_' &&
                          call.size() - last_letter - 1 >= 4;
  return is_version ? call.substr(0, last_letter - 1) : call;
}

ApiKind ApiOfName(std::string_view call) {
  if (call.starts_with("cuda")) {
    return ApiKind::kRuntime;
  }
  const bool is_driver = call.size() > 2 && call.starts_with("cu") &&
                         std::isupper(static_cast<unsigned char>(call[2])) != 0;
  return is_driver ? ApiKind::kDriver : ApiKind::kOther;
}

void ReadRuntimeCalls(ExportContext& context, RankSet& ranks) {
  static constexpr std::array<std::string_view, 7> kColumns{
      "start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"};
  CallNames names(context);
  context.ForEachRow(kRuntimeTable, kColumns, [&](const TableScan& row) {
    const std::optional<Interval> time = context.ReadInterval(row, kStart, kEnd, kRuntimeTable);
    if (!time) {
      return;
    }
    const std::int64_t thread = row.Integer(kThread);
    const std::int64_t correlation = row.Integer(kCorrelation, -1);
    const RankSet::Home home = ranks.ForCall(ProcessOf(thread), correlation);
    RankBuilder& rank = *home.rank;
    if (home.found_by_work) {
      ranks.NoteLaunch(thread, time->begin_ns, rank);
    }
    const CallName& name = names.Of(rank, row.Integer(kName, -1));
    rank.trace.runtime_calls.Append(
        {.begin_ns = time->begin_ns,
         .duration_ns = time->duration_ns,
         .name = name.name,
         .track = rank.HostTrack(thread),
         .api = ApiOf(row.Integer(kClass, -1), rank.trace.Text(name.name)),
         .correlation = home.is_own ? correlation : -1,
         .return_value = row.SmallInteger(kReturn),
         .extra = home.is_own ? name.extra : ForeignExtra(rank, name.extra, correlation)});
  });
  ranks.SealLaunches();
}

}  // namespace orrery::ingest::nsys
