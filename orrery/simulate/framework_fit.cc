#include "orrery/simulate/framework_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/json_text.h"
#include "orrery/base/parallel.h"
#include "orrery/kernel/estimate.h"
#include "orrery/learn/least_squares.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/validation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/published_run.h"
#include "orrery/workload/job/run_table.h"
#include "orrery/workload/model/model.h"

namespace orrery::simulate {
namespace {

using workload::FittedScalar;
using workload::FittedScalars;
using workload::Framework;
using workload::PublishedRun;

constexpr double kPicoseconds = 1e12;
constexpr double kLeastUtilisation = 10;  // percent
// Passes of one step through all blocks: longer runs say no more, and take the time of many.
constexpr std::int64_t kMostBlockPasses = 6'000;
constexpr double kPriorRows = 4;      // what the prior of a scalar is worth, in rows
constexpr double kUsualError = 0.05;  // of a row, relative

// What a scalar is expected to be before any row is seen, and how sure that is.
struct Prior {
  double mean = 1;
  double deviation = 0.2;
};

Prior PriorOf(const FittedScalar& scalar) {
  if (scalar.key == "launch_us") {
    return {10, 15};
  }
  if (scalar.key == "spread") {
    return {0, 0.02};
  }
  return {1, 0.2};
}

bool IsTold(const std::vector<std::string>& texts, const std::string& name) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return name.find(text) != std::string::npos; });
}

bool IsUsable(const PublishedRun& run) {
  const workload::Transformer* const model = run.job.model.transformer();
  const std::int64_t block_passes =
      model == nullptr ? 0 : run.job.microbatches() * model->num_blocks();
  return block_passes <= kMostBlockPasses &&
         (!run.mfu_percent || *run.mfu_percent > kLeastUtilisation) &&
         run.job.plan.tp <= run.job.cluster.gpus_per_node;
}

using RunsOfSource = std::map<std::string, std::vector<PublishedRun>>;

const std::string& OwnerOf(const Framework& framework) {
  return framework.scalars_of.empty() ? framework.name : framework.scalars_of;
}

// The rows whose frameworks are asked for: reading is quick, simulating is not.
std::set<std::string> AskedRows(const workload::RunTable& table,
                                const FrameworkFitOptions& options) {
  std::set<std::string> ids;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const Result<PublishedRun> run = table.Read(row);
    if (run && (options.only.empty() || IsTold(options.only, OwnerOf(run->job.framework)))) {
      ids.insert(table.Label(row).id);
    }
  }
  return ids;
}

// Runs by framework and source, as validation describes them.
std::map<std::string, RunsOfSource> ReadRuns(
    std::span<const std::unique_ptr<workload::RunTable>> tables, const kernel::CostModel& costs,
    const FrameworkFitOptions& options) {
  std::set<std::string> rows;
  ValidateOptions asked;
  asked.engine = options.engine;
  asked.filter = [&](const workload::RunLabel& label) {
    return rows.contains(label.id) &&
           (label.grade.empty() || label.grade == "A" || label.grade == "A-") &&
           !IsTold(options.without_sources, label.source);
  };
  std::map<std::string, RunsOfSource> runs;
  for (const std::unique_ptr<workload::RunTable>& table : tables) {
    rows = AskedRows(*table, options);
    for (EvaluatedRun& evaluated : Validate(*table, costs, asked).evaluated) {
      if (IsUsable(evaluated.run)) {
        runs[OwnerOf(evaluated.run.job.framework)][evaluated.run.source].push_back(
            std::move(evaluated.run));
      }
    }
  }
  return runs;
}

std::vector<PublishedRun> Spread(const RunsOfSource& runs, std::size_t most) {
  std::vector<PublishedRun> chosen;
  for (const auto& [source, all] : runs) {
    const std::size_t count = std::min(most, all.size());
    for (std::size_t i = 0; i < count; ++i) {
      chosen.push_back(all[i * all.size() / count]);
    }
  }
  return chosen;
}

class Fitting {
 public:
  Fitting(std::vector<PublishedRun> runs, const Framework& framework,
          const kernel::CostModel& costs, const SimulationOptions& engine)
      : runs_(std::move(runs)), framework_(framework), costs_(costs), engine_(engine) {}

  Framework Fit() {
    std::vector<double> start;
    std::vector<double> least;
    std::vector<double> most;
    for (const FittedScalar& scalar : FittedScalars()) {
      start.push_back(std::clamp(framework_.*scalar.member, scalar.least, scalar.most));
      least.push_back(scalar.least);
      most.push_back(scalar.most);
    }
    learn::LeastSquaresOptions options;
    options.outlier_scale = kUsualError;
    options.max_iterations = 12;
    options.tolerance = 2e-3;
    ChooseLaunch(start);
    const learn::LeastSquaresFit fit = learn::FitLeastSquares(
        [this](std::span<const double> scalars) { return Residuals(scalars); }, start, least, most,
        options);
    return With(fit.parameters);
  }

  [[nodiscard]] double MeanError(const Framework& framework) const {
    double sum = 0;
    for (const double log_ratio : LogRatios(framework)) {
      sum += std::abs(std::expm1(log_ratio));
    }
    return runs_.empty() ? 0 : sum / static_cast<double>(runs_.size());
  }

 private:
  // As long as no run is bound by the host, a launch may take any time: derivatives say nothing.
  void ChooseLaunch(std::vector<double>& start) const {
    const auto scalars = FittedScalars();
    const auto launch = static_cast<std::size_t>(
        std::ranges::find(scalars, "launch_us", &FittedScalar::key) - scalars.begin());
    double best = std::numeric_limits<double>::infinity();
    double chosen = start[launch];
    for (const double launch_us : {5.0, 15.0, 30.0, 45.0, 60.0, 75.0}) {
      start[launch] = launch_us;
      double loss = 0;
      for (const double residual : Residuals(start)) {
        loss += std::abs(residual);
      }
      if (loss < best) {
        best = loss;
        chosen = launch_us;
      }
    }
    start[launch] = chosen;
  }

  [[nodiscard]] Framework With(std::span<const double> scalars) const {
    Framework framework = framework_;
    std::size_t next = 0;
    for (const FittedScalar& scalar : FittedScalars()) {
      framework.*scalar.member = scalars[next++];
    }
    return framework;
  }

  // A run that cannot be simulated counts as right, so that it moves nothing.
  [[nodiscard]] std::vector<double> LogRatios(const Framework& framework) const {
    std::vector<double> ratios(runs_.size(), 0.0);
    ParallelFor(runs_.size(), 0, [&](std::size_t i) {
      workload::Job job = runs_[i].job;
      workload::CopyScalars(framework, job.framework);
      const Result<Simulation> simulation = Simulate(job, costs_, engine_);
      if (simulation) {
        ratios[i] = std::log(static_cast<double>(simulation->step_ps()) / kPicoseconds /
                             runs_[i].measured_s);
      }
    });
    return ratios;
  }

  [[nodiscard]] std::vector<double> Residuals(std::span<const double> scalars) const {
    std::vector<double> residuals = LogRatios(With(scalars));
    std::size_t next = 0;
    for (const FittedScalar& scalar : FittedScalars()) {
      const Prior prior = PriorOf(scalar);
      residuals.push_back((scalars[next++] - prior.mean) / prior.deviation * kUsualError *
                          std::sqrt(kPriorRows));
    }
    return residuals;
  }

  std::vector<PublishedRun> runs_;
  const Framework& framework_;
  const kernel::CostModel& costs_;
  const SimulationOptions& engine_;
};

}  // namespace

std::vector<FrameworkFit> FitFrameworks(std::span<const std::unique_ptr<workload::RunTable>> tables,
                                        const kernel::CostModel& costs,
                                        const FrameworkFitOptions& options) {
  const GpuMemo memo(costs);
  std::map<std::string, RunsOfSource> runs = ReadRuns(tables, memo, options);
  std::vector<FrameworkFit> fits;
  for (const Framework& framework : workload::Frameworks()) {
    const auto found = runs.find(framework.name);
    if (found == runs.end() || (!options.only.empty() && !IsTold(options.only, framework.name))) {
      continue;
    }
    FrameworkFit fit;
    std::vector<PublishedRun> chosen = Spread(found->second, options.most_rows_of_source);
    fit.rows = chosen.size();
    for (const auto& [source, all] : found->second) {
      fit.sources.push_back(source);
    }
    if (options.progress) {
      options.progress(fmt::format("{}: {} rows", framework.name, fit.rows));
    }
    Framework start = framework;
    if (!options.without_sources.empty()) {
      // Shipped scalars know the sources that are to be left out.
      workload::CopyScalars(Framework{}, start);
    }
    Fitting fitting(std::move(chosen), start, memo, options.engine);
    fit.error_before = fitting.MeanError(start);
    fit.framework = fitting.Fit();
    fit.error_after = fitting.MeanError(fit.framework);
    // Outliers count less in the fit than in the mean: what is there stays where it is better.
    if (fit.error_after > fit.error_before) {
      fit.framework = start;
      fit.error_after = fit.error_before;
    }
    fits.push_back(std::move(fit));
  }
  return fits;
}

std::string FitsText(const std::vector<FrameworkFit>& fits) {
  std::string text =
      "# Written by `orrery fit frameworks`: what frameworks reach of kernels and collectives "
      "alone, fitted to\n"
      "# published runs (docs/formats/framework.md has the meaning and the range of each scalar). "
      "Errors are mean\n"
      "# absolute ones of the rows used, before the fit and after it, in percent.\n"
      "fits:\n";
  for (const FrameworkFit& fit : fits) {
    text += fmt::format("  - framework: {}\n    rows: {}\n    sources:\n", fit.framework.name,
                        fit.rows);
    for (const std::string& source : fit.sources) {
      text += fmt::format("      - {}\n", QuoteJson(source));
    }
    text += fmt::format("    error_before: {:.1f}\n    error_after: {:.1f}\n",
                        100 * fit.error_before, 100 * fit.error_after);
    for (const FittedScalar& scalar : FittedScalars()) {
      text += fmt::format("    {}: {:.4g}\n", scalar.key, fit.framework.*scalar.member);
    }
  }
  return text;
}

}  // namespace orrery::simulate
