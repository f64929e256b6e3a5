#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/fit/commands.h"
#include "orrery/cli/fit/overlap_traces.h"
#include "orrery/cli/model_sources.h"
#include "orrery/cli/overlap_pairs.h"
#include "orrery/cli/terminal.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/evaluation.h"

namespace orrery::cli {
namespace {

struct FitOverlapPairsArguments {
  std::vector<std::string> paths;     // tables of `orrery measure overlap`
  std::vector<std::string> counters;  // and of counters
  std::string output;
  std::uint64_t seed = 1;
};

constexpr std::int64_t kLearned = 4;  // models of a fit, for the progress line

Result<overlap::LearnedModel> Fit(std::span<const overlap::MeasuredPair* const> rows,
                                  std::uint64_t seed) {
  ProgressLine progress(TerminalProgress());
  std::int64_t done = 0;
  return overlap::FitOverlap(rows, {.seed = seed}, [&](std::string_view what) {
    progress.Update(done++, kLearned, what);
  });
}

Result<std::vector<learn::DataCard::Figures>> HeldOutMetrics(const overlap::PairTable& data,
                                                             std::uint64_t seed) {
  const overlap::PairSplit split = overlap::SplitPairs(data.rows, overlap::HeldOut::kKernel, seed);
  ORRERY_TRY(const overlap::LearnedModel model, Fit(split.train, seed));
  const overlap::OverlapEvaluation evaluation = overlap::Evaluate(model, split.train, split.test);
  return std::vector<learn::DataCard::Figures>{
      {"overlapped duration, kernels held out", evaluation.predictors.front().duration},
      {"the same as a plan knows it", evaluation.as_planned.duration}};
}

// Fits the model of overlap to measured pairs and writes it; returns the exit status.
Result<int> FitOverlapPairs(const FitOverlapPairsArguments& arguments) {
  ORRERY_TRY(const overlap::PairTable data, ReadOverlapPairs(arguments.paths, arguments.counters));
  std::vector<const overlap::MeasuredPair*> all;
  for (const overlap::MeasuredPair& row : data.rows) {
    all.push_back(&row);
  }
  learn::ModelFile file;
  ORRERY_TRY(file.card.sources, SourcesOf(arguments.paths));
  ORRERY_TRY(file.card.figures, HeldOutMetrics(data, arguments.seed));
  ORRERY_TRY(const overlap::LearnedModel model, Fit(all, arguments.seed));
  file.card.title = "How kernels slow each other down";
  file.card.rows = data.rows.size();
  file.card.split = "figures: a quarter of the kernels held out; the model learned from all rows";
  file.card.seed = arguments.seed;
  file.card.made_by = "orrery fit overlap";
  model.AddTo(file);
  ORRERY_TRY_STATUS(learn::WriteModelFile(file, arguments.output));
  std::error_code ignored;
  Print(fmt::format(
      "{}: from {} pairs, {:.0f} kB; kernels held out: MAPE {:.2f} %, {:.1f} % within 10 %\n",
      arguments.output, data.rows.size(),
      static_cast<double>(std::filesystem::file_size(arguments.output, ignored)) / 1000,
      file.card.figures.front().evaluation.mape, file.card.figures.front().evaluation.within_10));
  return NoticeRejectedPairs(data);
}

struct FitOverlapArguments {
  FitOverlapTracesArguments traces;
  FitOverlapPairsArguments pairs;
};

Result<int> FitOverlap(FitOverlapArguments& arguments) {
  if (!arguments.traces.runs.empty()) {
    if (arguments.pairs.counters.size() > 1) {
      return Fail(Error::Kind::kInvalidInput, "--from-traces takes one file of --counters");
    }
    if (!arguments.pairs.counters.empty()) {
      arguments.traces.counters = arguments.pairs.counters.front();
    }
    arguments.traces.output = arguments.pairs.output;
    return FitOverlapFromTraces(arguments.traces);
  }
  if (arguments.pairs.paths.empty() || arguments.pairs.output.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "name tables of `orrery measure overlap` and the model to write with -o FILE, or "
                "two recordings with --from-traces A B");
  }
  return FitOverlapPairs(arguments.pairs);
}

}  // namespace

void AddFitOverlapCommand(Verb& fit) {
  auto arguments = std::make_shared<FitOverlapArguments>();
  Verb verb = fit.AddVerb(
      "overlap", "How kernels slow each other down, from measured pairs or from recordings");
  verb.AddOption("DATA", arguments->pairs.paths,
                 "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb.AddOption("--from-traces", arguments->traces.runs,
                 "the run without communication (or a profile of its kernels: CSV of Nsight "
                 "Compute), then the run with it")
      .TypeName("A B")
      .NumValues(2);
  verb.AddOption("--counters", arguments->pairs.counters,
                 "counters of the kernels: features/counters.csv, or for --from-traces a CSV of "
                 "Nsight Compute (details or raw page)")
      .TypeName("FILE");
  verb.AddOption("-o,--output", arguments->pairs.output,
                 "the model file to write; for --from-traces the folder of tables")
      .TypeName("PATH");
  verb.AddOption("--seed", arguments->pairs.seed, "of draws (1)");
  verb.AddFlag("--json", arguments->traces.delivery.as_json, "of --from-traces: one JSON document");
  AddRunOptions(verb, arguments->traces.reading);
  verb.OnRun([arguments] { return FitOverlap(*arguments); });
}

}  // namespace orrery::cli
