#include "orrery/ingest/kineto/kineto.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/chunk.h"
#include "orrery/ingest/kineto/collectives.h"
#include "orrery/ingest/kineto/metadata.h"
#include "orrery/ingest/kineto/own_export.h"
#include "orrery/ingest/kineto/pipeline.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

// Microseconds of this size count from 1970: the profiler's clock reads so since 2001.
constexpr std::int64_t kEarliestEpochNs = std::int64_t{1'000'000'000} * 1'000'000'000;

bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  std::size_t at = head.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  at = head.find_first_not_of(" \n\r\t", at);
  if (at == std::string_view::npos) {
    return false;
  }
  if (head[at] == '[') {
    at = head.find_first_not_of(" \n\r\t", at + 1);
    return at != std::string_view::npos && head[at] == '{' && Contains(head, "\"ph\"");
  }
  if (head[at] != '{' || Contains(head, "\"workload_graph\"")) {
    return false;
  }
  return Contains(head, "\"traceEvents\"") || Contains(head, "\"deviceProperties\"") ||
         Contains(head, "\"computeProperties\"") ||
         (Contains(head, "\"schemaVersion\"") && Contains(head, "\"distributedInfo\""));
}

std::string GenerationOf(const Features& features, bool has_base) {
  if (features.capital_categories) {
    return "2021";
  }
  if (features.async_flows) {
    return "2022";
  }
  if (features.group_sequence) {
    return "2026";
  }
  if (has_base) {
    return "2024-2025";
  }
  return features.decimal_times ? "early 2024" : "2023";
}

void Describe(trace::Trace& trace, const Features& features, bool has_base, bool is_xla) {
  if (is_xla && !features.kineto_categories) {
    trace.info.format = "XLA Chrome JSON";
    return;
  }
  const bool is_kineto =
      features.kineto_categories || has_base || !trace.devices.empty() || trace.info.rank >= 0;
  trace.info.format = is_kineto ? "Kineto JSON" : "Chrome JSON";
  if (is_kineto) {
    trace.info.format_version = GenerationOf(features, has_base);
  }
}

void SetTimes(trace::Trace& trace, const TimeBase& time_base) {
  ClipDurations(trace);
  if (time_base.base_ns) {
    ShiftTimes(trace, *time_base.base_ns);
  }
  const trace::Span span = trace::RecordedSpan(trace);
  trace.info.time_origin = time_base.base_ns || span.begin_ns >= kEarliestEpochNs
                               ? trace::TimeOrigin::kEpoch
                               : trace::TimeOrigin::kUnknown;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(auto source, file.OpenContent());
  Assembler assembler;
  auto frame = ReadEvents(std::move(source), {.threads = options.threads}, assembler);
  if (!frame) {
    return FailWithin(file.path(), frame);
  }
  if (assembler.num_events() == 0 && !assembler.trace().problems.has_loss()) {
    assembler.trace().problems.Note("the list of events is empty");
  }
  auto arrows = assembler.PairFlows();
  assembler.NameTracks();
  trace::Trace trace = std::move(assembler.trace());
  const TimeBase time_base = ReadMetadata(frame->head, frame->tail, trace);
  const std::vector<RowId> home = UndoExport(trace);
  const bool is_xla = SortOutXla(trace);
  Describe(trace, assembler.features(), time_base.base_ns.has_value(), is_xla);
  ClassifyCopies(trace);
  SetTimes(trace, time_base);
  for (auto& [start, end] : arrows) {
    start.time_ns += time_base.base_ns.value_or(0);
    end.time_ns += time_base.base_ns.value_or(0);
    if (!home.empty()) {
      start.track = home[start.track];
      end.track = home[end.track];
    }
  }
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkForwardBackward(trace, arrows);
  BuildCollectives(trace);
  trace.info.files = {file.path()};
  FileContent content;
  content.traces.push_back(std::move(trace));
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "Kineto JSON", .matches = Matches, .read = Read};
  return kFormat;
}

}  // namespace orrery::ingest::kineto
