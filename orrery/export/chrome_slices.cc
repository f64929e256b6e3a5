#include <algorithm>
#include <utility>
#include <vector>

#include "orrery/export/chrome_events.h"
#include "orrery/export/event_args.h"
#include "orrery/export/json_args.h"

namespace orrery::exporting {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

// Writes the slices of one table.
class TableWriter {
 public:
  TableWriter(const ChromeRank& rank, ChromeEvents& events, SliceKind kind)
      : rank_(rank), tracks_(rank.trace), events_(events), kind_(kind) {}

  // Writes one row; `write_args` gets a visitor for its arguments.
  template <typename Table, typename WriteArgs>
  void Slice(const Table& table, RowId row, std::string_view category, WriteArgs&& write_args) {
    const RowId track = tracks_.Of(table.track[row]);
    const std::string& place = rank_.rows.Thread(track, rank_.layout.LaneOf(kind_, row)).place;
    Head(category, table.name[row], place);
    Tail(table.begin_ns[row], table.duration_ns[row], std::forward<WriteArgs>(write_args));
  }

  void Head(std::string_view category, StringId name, std::string_view place) {
    JsonWriter& json = events_.Begin();
    json.Raw("\"ph\":\"X\",\"cat\":");
    json.String(category);
    json.Raw(",\"name\":");
    rank_.strings.Write(json, name);
    json.Raw(",");
    json.Raw(place);
  }

  template <typename WriteArgs>
  void Tail(std::int64_t begin_ns, std::int64_t duration_ns, WriteArgs&& write_args) {
    JsonWriter& json = events_.json();
    events_.Time(begin_ns);
    json.Raw(",\"dur\":");
    json.Microseconds(std::max<std::int64_t>(duration_ns, 0));
    json.Raw(",\"args\":{");
    JsonArgs args(json, rank_.strings, rank_.trace.strings);
    write_args(args);
    json.Raw("}}");
  }

 private:
  const ChromeRank& rank_;
  DrawnTracks tracks_;
  ChromeEvents& events_;
  SliceKind kind_;
};

// Work and calls of other makers have no category of their own in Kineto; these are read back as
// "other" again.
std::string_view ActivityCategory(trace::ActivityKind kind) {
  switch (kind) {
    case trace::ActivityKind::kCopy:
      return "gpu_memcpy";
    case trace::ActivityKind::kSet:
      return "gpu_memset";
    case trace::ActivityKind::kOther:
      return "hpu_op";
    case trace::ActivityKind::kKernel:
      break;
  }
  return "kernel";
}

std::string_view ApiCategory(trace::ApiKind api) {
  switch (api) {
    case trace::ApiKind::kDriver:
      return "cuda_driver";
    case trace::ApiKind::kOther:
      return "privateuse1_runtime";
    case trace::ApiKind::kRuntime:
      break;
  }
  return "cuda_runtime";
}

// The call that each operator stands for. PyTorch puts a call's arguments on record_param_comms.
std::vector<RowId> CollectiveOfOp(const Trace& trace) {
  std::vector<RowId> collective_of_op(trace.host_ops.size(), kNoRow);
  const StringId carrier = trace.strings.Find("record_param_comms");
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId op = trace.collectives.host_op[row];
    if (op < collective_of_op.size() && trace.host_ops.name[op] == carrier) {
      collective_of_op[op] = row;
    }
  }
  return collective_of_op;
}

void WriteHostOps(const ChromeRank& rank, ChromeEvents& events) {
  const std::vector<RowId> collective_of_op = CollectiveOfOp(rank.trace);
  TableWriter writer(rank, events, SliceKind::kHostOp);
  for (RowId row = 0; row < rank.trace.host_ops.size(); ++row) {
    writer.Slice(rank.trace.host_ops, row, "cpu_op", [&](JsonArgs& args) {
      VisitHostOpArgs(rank.trace, row, collective_of_op[row], args);
    });
  }
}

// After an earlier export the arguments of a range may say its stream already.
bool NamesStream(const Trace& trace, RowId annotation) {
  return trace.Text(trace.annotations.extra[annotation]).find("\"stream\":") !=
         std::string_view::npos;
}

void WriteAnnotations(const ChromeRank& rank, ChromeEvents& events) {
  const trace::Annotations& table = rank.trace.annotations;
  TableWriter writer(rank, events, SliceKind::kAnnotation);
  for (RowId row = 0; row < table.size(); ++row) {
    const bool on_host = table.kind[row] == trace::AnnotationKind::kHost;
    const bool is_aside = rank.layout.LaneOf(SliceKind::kAnnotation, row) > 0;
    writer.Slice(table, row, on_host ? "user_annotation" : "gpu_user_annotation",
                 [&](JsonArgs& args) {
                   if (is_aside && !NamesStream(rank.trace, row)) {
                     VisitPlaceArgs(rank.trace, table.track[row], args);
                   }
                   VisitAnnotationArgs(rank.trace, row, args);
                 });
  }
}

void WritePythonCalls(const ChromeRank& rank, ChromeEvents& events) {
  TableWriter writer(rank, events, SliceKind::kPythonCall);
  for (RowId row = 0; row < rank.trace.python_calls.size(); ++row) {
    writer.Slice(rank.trace.python_calls, row, "python_function",
                 [&](JsonArgs& args) { VisitPythonCallArgs(rank.trace, row, args); });
  }
}

void WriteRuntimeCalls(const ChromeRank& rank, ChromeEvents& events) {
  const trace::RuntimeCalls& table = rank.trace.runtime_calls;
  TableWriter writer(rank, events, SliceKind::kRuntimeCall);
  for (RowId row = 0; row < table.size(); ++row) {
    writer.Slice(table, row, ApiCategory(table.api[row]),
                 [&](JsonArgs& args) { VisitRuntimeCallArgs(rank.trace, row, args); });
  }
}

void WriteActivities(const ChromeRank& rank, ChromeEvents& events) {
  const trace::Activities& table = rank.trace.activities;
  TableWriter writer(rank, events, SliceKind::kActivity);
  for (RowId row = 0; row < table.size(); ++row) {
    writer.Slice(table, row, ActivityCategory(table.kind[row]),
                 [&](JsonArgs& args) { VisitActivityArgs(rank.trace, row, args); });
  }
}

void WriteSyncs(const ChromeRank& rank, ChromeEvents& events) {
  const trace::Syncs& table = rank.trace.syncs;
  TableWriter writer(rank, events, SliceKind::kSync);
  for (RowId row = 0; row < table.size(); ++row) {
    const bool records = table.kind[row] == trace::SyncKind::kEventRecord;
    writer.Slice(table, row, records ? "cuda_event" : "cuda_sync",
                 [&](JsonArgs& args) { VisitSyncArgs(rank.trace, row, args); });
  }
}

// The slices that are drawn without a table of their own in row order: steps, waits and what has
// other categories, of which some are not drawn.
void WriteRest(const ChromeRank& rank, ChromeEvents& events) {
  const Trace& trace = rank.trace;
  for (const PlacedSlice& slice : rank.layout.slices) {
    const std::string& place = rank.rows.Thread(slice.track, slice.lane).place;
    TableWriter writer(rank, events, slice.kind);
    const auto no_args = [](JsonArgs&) {};
    const std::int64_t duration_ns = slice.end_ns - slice.begin_ns;
    if (slice.kind == SliceKind::kStep) {
      writer.Head("orrery_step", trace.steps.name[slice.row], place);
      writer.Tail(slice.begin_ns, duration_ns, no_args);
    } else if (slice.kind == SliceKind::kOther) {
      const trace::OtherSlices& others = trace.other_slices;
      writer.Head(trace.Text(others.category[slice.row]), others.name[slice.row], place);
      writer.Tail(slice.begin_ns, duration_ns,
                  [&](JsonArgs& args) { args.Fields(others.extra[slice.row]); });
    }
  }
}

void WriteWaits(const ChromeRank& rank, ChromeEvents& events) {
  for (const PlacedSlice& slice : rank.layout.slices) {
    if (slice.kind == SliceKind::kWait) {
      JsonWriter& json = events.Begin();
      json.Raw("\"ph\":\"X\",\"cat\":\"orrery_wait\",\"name\":\"wait\",");
      json.Raw(rank.rows.Thread(slice.track, slice.lane).place);
      events.Time(slice.begin_ns);
      json.Raw(",\"dur\":");
      json.Microseconds(slice.end_ns - slice.begin_ns);
      json.Raw(",\"args\":{}}");
    }
  }
}

}  // namespace

void WriteSlices(const ChromeRank& rank, ChromeEvents& events) {
  WriteRest(rank, events);
  WriteAnnotations(rank, events);
  WritePythonCalls(rank, events);
  WriteHostOps(rank, events);
  WriteRuntimeCalls(rank, events);
  WriteActivities(rank, events);
  WriteSyncs(rank, events);
  WriteWaits(rank, events);
}

}  // namespace orrery::exporting
