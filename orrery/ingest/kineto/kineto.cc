#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_stream.h"
#include "orrery/ingest/kineto/own_export.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using trace::Trace;

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
  return features.capital_categories ? "2021"
         : features.async_flows      ? "2022"
         : features.group_sequence   ? "2026"
         : has_base                  ? "2024-2025"
         : features.decimal_times    ? "early 2024"
                                     : "2023";
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

void SetTimes(trace::Trace& trace, std::optional<std::int64_t> base_ns) {
  ClipDurations(trace);
  if (base_ns) {
    ShiftTimes(trace, *base_ns);
  }
  const trace::Span span = trace::RecordedSpan(trace);
  trace.info.time_origin = base_ns || span.begin_ns >= kEarliestEpochNs
                               ? trace::TimeOrigin::kEpoch
                               : trace::TimeOrigin::kUnknown;
}

// The trace of a rank: times, kinds and links.
Trace Finish(FileRank& rank, const Assembler& file, std::optional<std::int64_t> base_ns,
             const ReadOptions& options) {
  Trace& trace = rank.trace;
  const bool is_xla = ClassifyXlaSlices(trace);
  Describe(trace, file.features, base_ns.has_value(), is_xla);
  ClassifyCopies(trace);
  SetTimes(trace, base_ns);
  for (auto& [start, end] : rank.arrows) {
    start.time_ns += base_ns.value_or(0);
    end.time_ns += base_ns.value_or(0);
  }
  UndoAlignment(rank);
  const trace::ProblemLog of_reading = trace.problems;
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkForwardBackward(trace, rank.arrows);
  BuildCollectives(trace);
  if (rank.info) {
    rank.info->backend = trace.info.backend;
    trace.info = *rank.info;
    // Notes on the content are those of the recording; what is lost since comes on top.
    trace.problems = rank.problems;
    for (const trace::Problem& problem : of_reading.all()) {
      if (problem.severity == trace::Severity::kLoss) {
        trace.problems.Loss(problem.what, problem.count, problem.first);
      }
    }
  }
  return std::move(trace);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(auto source, file.OpenContent());
  Assembler assembler;
  ORRERY_TRY(const Frame frame,
             ReadEvents(std::move(source), {.threads = options.threads}, assembler));
  if (assembler.num_events == 0 && !assembler.trace.problems.has_loss()) {
    assembler.trace.problems.Note("the list of events is empty");
  }
  FileRank whole;
  whole.arrows = assembler.PairFlows();
  assembler.NameTracks();
  whole.trace = std::move(assembler.trace);
  const std::optional<std::int64_t> base_ns = ReadMetadata(frame.head, frame.tail, whole.trace);
  ORRERY_TRY(FileRanks found, UndoExport(std::move(whole), assembler.has_several_ranks));
  FileContent content;
  for (FileRank& rank : found.ranks) {
    content.traces.push_back(Finish(rank, assembler, base_ns, options));
    content.traces.back().info.files = {file.path()};
  }
  content.card = std::move(found.card);
  content.problems = std::move(found.problems);
  return content;
}

}  // namespace

// Traces of the PyTorch profiler from 2021 to today, and other files of Chrome's JSON format.
constinit const Format kFormat{.name = "Kineto JSON", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::kineto
