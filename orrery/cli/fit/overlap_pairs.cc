#include "orrery/cli/fit/overlap_pairs.h"

#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "orrery/cli/model_sources.h"
#include "orrery/cli/overlap_pairs.h"
#include "orrery/cli/terminal.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/evaluation.h"

namespace orrery::cli {
namespace {

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

}  // namespace

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

}  // namespace orrery::cli
