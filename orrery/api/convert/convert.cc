#include "orrery/api/convert.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/api/input/trace_output.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/packed_table.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/export/torch_snapshot/torch_snapshot.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/run.h"
#include "orrery/stream/reader.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api {
namespace {

Result<stream::Recompressed> RecompressFile(const ConvertRequest& request) {
  const std::string& input = request.input;
  std::error_code error;
  if (std::filesystem::is_directory(input, error)) {
    return InvalidInput("{}: is a folder; streams are packed one by one", input);
  }
  ORRERY_TRY(const ingest::InputFile file, ingest::InputFile::Open(input));
  if (!stream::IsStream(file.head())) {
    return Unsupported(
        "{}: only a recorded event stream can become an .orrs file; use .orr "
        "for traces of other tools",
        input);
  }
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  ORRERY_TRY(const std::unique_ptr<ByteSink> sink, CreateFile(request.output));
  auto done = stream::Recompress(*source, *sink, request.smallest);
  if (!done) {
    return FailWithin(input, done);
  }
  ORRERY_TRY_STATUS(sink->Close());
  return done;
}

// Packs the chunks of a stream and leaves its records as they are. Other inputs are refused.
Result<ConvertResult> Recompress(const ConvertRequest& request) {
  ORRERY_TRY(const stream::Recompressed done, RecompressFile(request));
  ConvertResult result{.stream = PackedStream{.chunks = done.num_chunks,
                                              .bytes_before = done.bytes_before,
                                              .bytes_after = done.bytes_after}};
  const auto add_loss = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      result.losses.push_back(
          {.what = std::string(what), .count = static_cast<std::int64_t>(count)});
    }
  };
  add_loss(done.losses.num_skipped_bytes, "bytes outside intact chunks");
  add_loss(done.losses.num_unknown_chunks, "chunks of types that a newer Orrery writes");
  result.partial = !result.losses.empty();
  return result;
}

bool IsTableName(std::string_view name) {
  return name.ends_with(".orrtable") || name.ends_with(".csv");
}

// The text of a table is kept byte by byte.
Result<ConvertResult> ConvertTable(const ConvertRequest& request) {
  ORRERY_TRY(const std::string text, ReadCsvText(request.input));
  Result<std::string> written = text;
  if (request.output.ends_with(".orrtable")) {
    written = PackTable(text);
  }
  if (!written) {
    return FailWithin(request.input, written);
  }
  std::error_code error;
  const auto bytes_before = std::filesystem::file_size(request.input, error);
  ORRERY_TRY_STATUS(WriteFile(request.output, *written));
  return ConvertResult{
      .table = PackedTable{.lines = std::ranges::count(text, '\n'),
                           .bytes_before = error ? 0 : static_cast<std::int64_t>(bytes_before),
                           .bytes_after = static_cast<std::int64_t>(written->size())}};
}

// Viewers have no place for graphs and for what is known of objects and accesses; allocated bytes
// they do show.
ConvertLeftOut LeftOutOfViewers(const trace::TraceSet& set) {
  ConvertLeftOut left_out;
  for (const trace::Trace& rank : set.ranks) {
    left_out.memory_objects += static_cast<std::int64_t>(rank.memory_objects.size());
    left_out.touches += static_cast<std::int64_t>(rank.touches.size() + rank.page_runs.size());
    left_out.accesses += static_cast<std::int64_t>(rank.accesses.size());
    left_out.graph_nodes += static_cast<std::int64_t>(rank.graph_nodes.size());
  }
  return left_out;
}

// One entry for each kind of loss: the parts that a partial result lacks must be seen.
std::vector<ConvertLoss> LossesOf(const ingest::Run& run) {
  trace::ProblemLog all;
  all.Merge(run.set.problems);
  for (const trace::Trace& rank : run.set.ranks) {
    all.Merge(rank.problems, fmt::format("rank {}", rank.info.rank));
  }
  std::vector<ConvertLoss> losses;
  for (const trace::Problem& problem : all.all()) {
    if (problem.severity == trace::Severity::kLoss) {
      losses.push_back({.what = problem.what, .count = problem.count, .first = problem.first});
    }
  }
  return losses;
}

ConvertResult ResultOf(const ingest::Run& run, const TraceOutput& written) {
  ConvertResult result{.ranks = static_cast<std::int64_t>(run.set.ranks.size()),
                       .aligned = written.is_aligned,
                       .losses = LossesOf(run),
                       .partial = run.is_partial()};
  if (written.is_for_viewer) {
    result.matched_collectives = static_cast<std::int64_t>(written.num_spans);
    result.left_out = LeftOutOfViewers(run.set);
  }
  // Viewers of snapshots show the framework's allocator and nothing else.
  if (written.left_out_of_snapshot) {
    result.left_out.foreign_objects = written.left_out_of_snapshot->num_outside;
    result.left_out.misplaced_tensors = written.left_out_of_snapshot->num_misplaced;
  }
  return result;
}

Result<ConvertResult> ConvertRun(const ConvertRequest& request) {
  ORRERY_TRY(const TraceFormat format, TraceFormatOf(request.output));
  if (request.smallest && format != TraceFormat::kOrr) {
    return InvalidInput("{}: --smallest packs .orr and .orrs; leave it out for other formats",
                        request.output);
  }
  ORRERY_TRY(const trace::AlignClocks align, AlignNamed(request.align));
  RunInput input = request.run;
  input.paths = {request.input};
  ORRERY_TRY(ingest::Run run, ReadRun(input, request.call.progress));
  if (run.set.ranks.empty()) {
    return InvalidInput("{}: holds no trace to convert", request.input);
  }
  request.call.Report("writing " + request.output);
  ORRERY_TRY(const TraceOutput written,
             WriteTraceFile(
                 run.set, request.output,
                 {.threads = request.run.threads, .align = align, .smallest = request.smallest}));
  return ResultOf(run, written);
}

}  // namespace

Result<ConvertResult> Convert(const Session& /*session*/, const ConvertRequest& request) {
  return RunCancellable(request.call, [&] {
    if (IsTableName(request.output)) {
      return ConvertTable(request);
    }
    return request.output.ends_with(".orrs") ? Recompress(request) : ConvertRun(request);
  });
}

}  // namespace orrery::api
