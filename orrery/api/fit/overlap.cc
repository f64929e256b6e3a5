#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::api {
namespace {

constexpr std::int64_t kLearned = 4;  // models of a fit, for the progress

Result<overlap::LearnedModel> Fit(std::span<const overlap::MeasuredPair* const> rows,
                                  const FitOverlapRequest& request) {
  const CallOptions& call = request.call;
  call.Report("fitting");
  std::int64_t done = 0;
  return calibrate::FitOverlap(rows, {.seed = request.seed}, [&](std::string_view what) {
    if (call.progress) {
      call.progress(done++, kLearned, what);
    }
  });
}

Result<std::vector<learn::DataCard::Figures>> HeldOutMetrics(const overlap::PairTable& data,
                                                             const FitOverlapRequest& request) {
  const calibrate::PairSplit split =
      calibrate::SplitPairs(data.rows, calibrate::HeldOut::kKernel, request.seed);
  ORRERY_TRY(const overlap::LearnedModel model, Fit(split.train, request));
  const calibrate::OverlapEvaluation evaluation =
      calibrate::EvaluateOverlap(model, split.train, split.test);
  return std::vector<learn::DataCard::Figures>{
      {"overlapped duration, kernels held out", evaluation.predictors.front().duration},
      {"the same as a plan knows it", evaluation.as_planned.duration}};
}

Result<learn::ModelFile> FitAndJudge(const overlap::PairTable& data,
                                     const FitOverlapRequest& request) {
  std::vector<const overlap::MeasuredPair*> all;
  for (const overlap::MeasuredPair& row : data.rows) {
    all.push_back(&row);
  }
  learn::ModelFile file;
  ORRERY_TRY(file.card.sources, SourcesOf(request.paths));
  ORRERY_TRY(file.card.figures, HeldOutMetrics(data, request));
  ORRERY_TRY(const overlap::LearnedModel model, Fit(all, request));
  file.card.title = "How kernels slow each other down";
  file.card.rows = data.rows.size();
  file.card.split = "metrics: a quarter of the kernels held out; the model learned from all rows";
  file.card.seed = request.seed;
  file.card.made_by = "orrery fit overlap";
  model.AddTo(file);
  return file;
}

Result<FitOverlapResult> Run(const FitOverlapRequest& request) {
  if (request.paths.empty() || request.output.empty()) {
    return InvalidInput(
        "name tables of `orrery measure overlap` and the model to write with -o FILE, or "
        "two recordings with --from-traces A B");
  }
  ORRERY_TRY(const overlap::PairTable data, ReadOverlapPairs(request.paths, request.counters));
  ORRERY_TRY(const learn::ModelFile file, FitAndJudge(data, request));
  ORRERY_TRY_STATUS(learn::WriteModelFile(file, request.output));
  std::error_code ignored;
  FitOverlapResult result{
      .output = request.output,
      .pairs = static_cast<std::int64_t>(data.rows.size()),
      .bytes = static_cast<double>(std::filesystem::file_size(request.output, ignored)),
      .mape = file.card.figures.front().evaluation.mape,
      .within_10 = file.card.figures.front().evaluation.within_10};
  NoteRejected(data, result);
  return result;
}

}  // namespace

Result<FitOverlapResult> FitOverlap(const Session& /*session*/, const FitOverlapRequest& request) {
  return RunCancellable(request.call, [&] { return Run(request); });
}

}  // namespace orrery::api
