#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"
#include "orrery/draw/number_format.h"
#include "orrery/export/chrome_json.h"
#include "orrery/export/matched_spans.h"
#include "orrery/export/perfetto.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::cli {
namespace {

struct ConvertArguments {
  RunArguments run;
  std::string input;
  std::string output;
  trace::AlignClocks align = trace::AlignClocks::kIfItMatters;
};

enum class OutputFormat { kOrr, kChrome, kPerfetto };

Result<OutputFormat> FormatOfName(std::string name) {
  if (name.ends_with(".orr")) {
    return OutputFormat::kOrr;
  }
  for (const std::string_view packing : {".gz", ".zst"}) {
    if (name.ends_with(packing)) {
      name.resize(name.size() - packing.size());
    }
  }
  if (name.ends_with(".json")) {
    return OutputFormat::kChrome;
  }
  if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace")) {
    return OutputFormat::kPerfetto;
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{}: the name says no format that Orrery writes; use .orr, .json, "
                          ".json.gz, .json.zst or .pftrace",
                          name));
}

// For viewers: clocks aligned, collectives matched over the ranks.
Status WriteForViewer(trace::TraceSet& set, OutputFormat format,
                      const ConvertArguments& arguments) {
  const trace::AlignedRun aligned = trace::MatchAndAlign(set, arguments.align);
  const auto spans = exporting::SpansOf(set, aligned.matched);
  ORRERY_TRY(const auto sink, CreatePackedFile(arguments.output));
  ORRERY_TRY_STATUS(format == OutputFormat::kChrome ? exporting::WriteChromeJson(set, spans, *sink)
                                                    : exporting::WritePerfetto(set, spans, *sink));
  ORRERY_TRY_STATUS(sink->Close());
  if (set.ranks.size() > 1) {
    Print(fmt::format("{} collective{} matched over the ranks\n",
                      draw::FormatCount(static_cast<std::int64_t>(spans.size())),
                      spans.size() == 1 ? "" : "s"));
  }
  if (aligned.alignment.applies()) {
    Print(
        "clocks of the ranks aligned by the ends of their collectives (--align off leaves them)\n");
  }
  return {};
}

Status Write(trace::TraceSet& set, const ConvertArguments& arguments) {
  ORRERY_TRY(const OutputFormat format, FormatOfName(arguments.output));
  if (format == OutputFormat::kOrr) {
    return trace::WriteOrr(set, arguments.output, {.threads = arguments.run.threads});
  }
  return WriteForViewer(set, format, arguments);
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
                        draw::FormatCount(problem.count), problem.first));
    }
  }
}

int RunConvert(ConvertArguments arguments) {
  if (const auto format = FormatOfName(arguments.output); !format) {
    return PrintError(format.error());
  }
  arguments.run.paths = {arguments.input};
  auto run = ReadRunWithProgress(arguments.run);
  if (!run) {
    return PrintError(run.error());
  }
  if (run->set.ranks.empty()) {
    return PrintError(Error(Error::Kind::kInvalidInput,
                            fmt::format("{}: holds no trace to convert", arguments.input)));
  }
  const Status written = Write(run->set, arguments);
  if (!written) {
    return PrintError(written.error());
  }
  PrintLosses(*run);
  Print(fmt::format("{}: {} rank{} written\n", arguments.output, run->set.ranks.size(),
                    run->set.ranks.size() == 1 ? "" : "s"));
  return run->is_partial() ? kExitPartial : kExitOk;
}

}  // namespace

void AddConvertCommand(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* const verb =
      app.add_subcommand("convert", "Translate traces for viewers and for speed");
  verb->footer(
      "The name of OUT says the format:\n"
      "  .orr                 Orrery's container, everything kept, loads ten times faster than "
      "JSON\n"
      "  .json .json.gz .zst  Chrome JSON, for ui.perfetto.dev, chrome://tracing and Kineto tools\n"
      "  .pftrace             Perfetto's own format, for many ranks\n\n"
      "Viewers show ranks as processes, streams as threads, launches as arrows, and each "
      "collective\n"
      "that was matched over the ranks on a track of its group.\n\n"
      "Exit status: 0 whole, 2 unusable, 3 partial.\n\n"
      "Examples:\n"
      "  orrery convert run/ run.pftrace\n"
      "  orrery convert trace.json.gz trace.orr");
  verb->add_option("IN", arguments->input, "file or folder of one run")->required();
  verb->add_option("OUT", arguments->output, "file to write")->required();
  const std::map<std::string, trace::AlignClocks> choices{
      {"auto", trace::AlignClocks::kIfItMatters},
      {"always", trace::AlignClocks::kAlways},
      {"off", trace::AlignClocks::kNever}};
  verb->add_option("--align", arguments->align,
                   "align the clocks of ranks by the ends of their collectives (viewers only)")
      ->transform(CLI::CheckedTransformer(choices).description("auto, always or off"))
      ->default_str("auto");
  AddRunOptions(*verb, arguments->run);
  verb->callback([arguments, &status] { status = RunConvert(*arguments); });
}

}  // namespace orrery::cli
