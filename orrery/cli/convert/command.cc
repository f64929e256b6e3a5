#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "orrery/api/trace_output.h"
#include "orrery/base/byte_sink.h"
#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/visible_text.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"
#include "orrery/export/torch_snapshot/torch_snapshot.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/run.h"
#include "orrery/stream/reader.h"
#include "orrery/trace/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::cli {
namespace {

Result<stream::Recompressed> RecompressFile(const std::string& input, const std::string& output,
                                            bool smallest) {
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
  ORRERY_TRY(const std::unique_ptr<ByteSink> sink, CreateFile(output));
  auto done = stream::Recompress(*source, *sink, smallest);
  if (!done) {
    return FailWithin(input, done);
  }
  ORRERY_TRY_STATUS(sink->Close());
  return done;
}

// What the input lacks, the output lacks too.
bool PrintStreamLosses(const stream::StreamLosses& losses) {
  const auto print = [](std::uint64_t count, std::string_view what) {
    if (count > 0) {
      Print(
          fmt::format("lost: {} {}\n", draw::FormatCount(static_cast<std::int64_t>(count)), what));
    }
    return count > 0;
  };
  const bool has_bytes = print(losses.num_skipped_bytes, "bytes outside of intact chunks");
  const bool has_chunks =
      print(losses.num_unknown_chunks, "chunks of types that a newer Orrery writes");
  return has_bytes || has_chunks;
}

// `orrery convert STREAM OUT.orrs`: packs the chunks of a stream and leaves its records as they
// are. Other inputs are refused.
Result<int> Recompress(const std::string& input, const std::string& output, bool smallest) {
  ORRERY_TRY(const stream::Recompressed done, RecompressFile(input, output, smallest));
  const bool has_loss = PrintStreamLosses(done.losses);
  Print(fmt::format("{} chunks, {} instead of {}\n", draw::FormatCount(done.num_chunks),
                    draw::FormatBytes({done.bytes_after}), draw::FormatBytes({done.bytes_before})));
  return has_loss ? kExitPartial : kExitOk;
}

struct ConvertArguments {
  RunArguments run;
  std::string input;
  std::string output;
  trace::AlignClocks align = trace::AlignClocks::kIfItMatters;
  bool smallest = false;
};

void PrintOutput(const trace::TraceSet& set, const api::TraceOutput& output) {
  if (output.is_for_viewer && set.ranks.size() > 1) {
    Print(fmt::format("{} collective{} matched over the ranks\n",
                      draw::FormatCount(static_cast<std::int64_t>(output.num_spans)),
                      output.num_spans == 1 ? "" : "s"));
  }
  if (output.is_aligned) {
    Print(
        "clocks of the ranks aligned by the ends of their collectives (--align off leaves them)\n");
  }
}

// Viewers have no place for graphs and for what is known of objects and accesses; allocated bytes
// they do show.
void PrintLeftOut(const trace::TraceSet& set) {
  std::int64_t num_graph_nodes = 0;
  std::int64_t num_objects = 0;
  std::int64_t num_touches = 0;
  std::int64_t num_accesses = 0;
  for (const trace::Trace& rank : set.ranks) {
    num_objects += static_cast<std::int64_t>(rank.memory_objects.size());
    num_touches += static_cast<std::int64_t>(rank.touches.size() + rank.page_runs.size());
    num_accesses += static_cast<std::int64_t>(rank.accesses.size());
    num_graph_nodes += static_cast<std::int64_t>(rank.graph_nodes.size());
  }
  if (num_graph_nodes > 0) {
    Print(fmt::format(
        "left out, they have no times: {} nodes of execution traces (.orr keeps them)\n",
        draw::FormatCount(num_graph_nodes)));
  }
  if (num_objects + num_touches + num_accesses > 0) {
    Print(
        fmt::format("left out, viewers cannot show them: {} memory objects, {} touches and runs "
                    "of pages, {} accesses (.orr keeps them)\n",
                    draw::FormatCount(num_objects), draw::FormatCount(num_touches),
                    draw::FormatCount(num_accesses)));
  }
}

// Viewers of snapshots show the framework's allocator and nothing else.
void PrintLeftOut(const exporting::SnapshotLeftOut& left_out) {
  if (left_out.num_outside > 0) {
    Print(fmt::format("left out, not the allocator's: {} memory objects\n",
                      draw::FormatCount(left_out.num_outside)));
  }
  if (left_out.num_misplaced > 0) {
    Print(fmt::format("left out of the final state, they overlap others: {} tensors\n",
                      draw::FormatCount(left_out.num_misplaced)));
  }
}

// One line for each kind of loss: what a partial result lacks must be seen.
void PrintLosses(const ingest::Run& run) {
  trace::ProblemLog all;
  all.Merge(run.set.problems);
  for (const trace::Trace& rank : run.set.ranks) {
    all.Merge(rank.problems, fmt::format("rank {}", rank.info.rank));
  }
  for (const trace::Problem& problem : all.all()) {
    if (problem.severity == trace::Severity::kLoss) {
      Print(fmt::format("lost: {} ({} times; first: {})\n", problem.what,
                        draw::FormatCount(problem.count), VisibleText(problem.first)));
    }
  }
}

Result<int> Convert(ConvertArguments arguments) {
  if (arguments.output.ends_with(".orrs")) {
    return Recompress(arguments.input, arguments.output, arguments.smallest);
  }
  ORRERY_TRY(const api::TraceFormat format, api::TraceFormatOf(arguments.output));
  if (arguments.smallest && format != api::TraceFormat::kOrr) {
    return InvalidInput("{}: --smallest packs .orr and .orrs; leave it out for other formats",
                        arguments.output);
  }
  arguments.run.paths = {arguments.input};
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments.run));
  if (run.set.ranks.empty()) {
    return InvalidInput("{}: holds no trace to convert", arguments.input);
  }
  ProgressLine progress(TerminalProgress(), "writing " + arguments.output);
  ORRERY_TRY(const api::TraceOutput written, api::WriteTraceFile(run.set, arguments.output,
                                                       {.threads = arguments.run.threads,
                                                        .align = arguments.align,
                                                        .smallest = arguments.smallest}));
  progress.Clear();
  PrintOutput(run.set, written);
  if (written.is_for_viewer) {
    PrintLeftOut(run.set);
  }
  if (written.left_out_of_snapshot) {
    PrintLeftOut(*written.left_out_of_snapshot);
  }
  PrintLosses(run);
  Print(fmt::format("{} rank{} converted\n", run.set.ranks.size(),
                    run.set.ranks.size() == 1 ? "" : "s"));
  return run.is_partial() ? kExitPartial : kExitOk;
}

}  // namespace

void AddConvertCommand(Verb& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  Verb verb = app.AddVerb("convert", "Translate traces for viewers and for speed");
  verb.Footer(
      "The name of OUT says the format:\n"
      "  .orr                 Orrery's container, everything kept, loads ten times faster than "
      "JSON\n"
      "  .json .json.gz .zst  Chrome JSON, for ui.perfetto.dev, chrome://tracing and Kineto tools; "
      "read "
      "back\n"
      "                       rank by rank\n"
      "  .pftrace             Perfetto's own format, for many ranks\n"
      "  .pickle              memory snapshot of PyTorch, for pytorch.org/memory_viz: segments, "
      "tensors\n"
      "                       and their history; of one process\n"
      "  .orrs                of a recorded event stream: the same stream, packed\n\n"
      "Viewers show ranks as processes, streams as threads, launches as arrows, and each "
      "collective\n"
      "that was matched over the ranks on a track of its group.\n\n"
      "Examples:\n"
      "  orrery convert run/ run.pftrace\n"
      "  orrery convert trace.json.gz trace.orr\n"
      "  orrery convert run.orrs run.pickle");
  verb.AddOption("IN", arguments->input, "file or folder of one run").Required();
  verb.AddOption("OUT", arguments->output, "file to write").Required();
  verb.AddChoice("--align", arguments->align, AlignChoices(),
                 "align the clocks of ranks by the ends of their collectives (viewers only)")
      .ShowDefault("auto");
  verb.AddFlag("--smallest", arguments->smallest,
               "pack .orr and .orrs as small as possible: slow to write, as fast to read");
  AddRunOptions(verb, arguments->run);
  verb.OnRun([arguments] { return Convert(*arguments); });
}

}  // namespace orrery::cli
