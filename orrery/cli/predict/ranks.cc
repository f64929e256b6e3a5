#include "orrery/cli/predict/ranks.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/cli/kernel_models.h"
#include "orrery/kernel/memo.h"
#include "orrery/simulate/group_times.h"
#include "orrery/simulate/link_class.h"
#include "orrery/simulate/recorded_job.h"
#include "orrery/trace/clock_alignment.h"

namespace orrery::cli {
namespace {

using report::Document;
using report::NumberFormat;
using simulate::RankStep;
using simulate::RecordedJob;

double Seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-12;
}

double ErrorOf(const RankStep& step) {
  return Seconds(step.step_ps) / Seconds(step.measured_ps) - 1;
}

bool AreMeasured(const RecordedJob& job) {
  for (const RankStep& step : job.ranks) {
    if (step.measured_ps <= 0) {
      return false;
    }
  }
  return true;
}

std::string HostText(const RecordedJob& job, const RanksRequest& request) {
  switch (job.host) {
    case simulate::HostSource::kGiven:
      return request.host_path;
    case simulate::HostSource::kOtherRanks:
      return "recordings of the other half of the ranks, under their profiler";
    case simulate::HostSource::kShared:
      break;
  }
  return "shared costs";
}

std::string KernelText(const RanksRequest& request) {
  return request.gpu == nullptr ? "as recorded" : "from models";
}

std::vector<std::string> NotModelled(const RecordedJob& job) {
  std::vector<std::string> sentences;
  if (job.pricing.unknown_calls > 0) {
    sentences.push_back(fmt::format("{} calls are priced by the bytes of their tensors: {}",
                                    job.pricing.unknown_calls, fmt::join(job.unknown_names, ", ")));
  }
  for (const trace::Problem& problem : job.problems.all()) {
    sentences.push_back(fmt::format("{} {}", problem.count, problem.what));
  }
  if (!AreMeasured(job)) {
    sentences.emplace_back("all ranks begin the step together; only recordings tell otherwise");
  }
  return sentences;
}

// JSON has the error of a rank wherever it is measured, a table only where all are.
Value DataOf(const RankStep& step) {
  Value data = Value::Object();
  data.Set("rank", step.rank)
      .Set("begin_s", Seconds(step.begin_ps))
      .Set("step_time_s", Seconds(step.step_ps))
      .Set("wait_for_ranks_s", Seconds(step.waiting_ps));
  if (step.measured_ps > 0) {
    data.Set("measured_step_s", Seconds(step.measured_ps)).Set("error", ErrorOf(step));
  }
  return data;
}

Document::Table RankTable(const RecordedJob& job) {
  const NumberFormat milliseconds("{:.3f} ms", 1e3);
  Document::Table table{.key = "",
                        .heading = "",
                        .columns = {{"", "rank", report::Unit::kNumber},
                                    {"", "begins after", milliseconds},
                                    {"", "step", milliseconds},
                                    {"", "waits for ranks", milliseconds}},
                        .max_shown = SIZE_MAX};
  if (AreMeasured(job)) {
    table.columns.push_back({"", "measured", milliseconds});
    table.columns.push_back({"", "error", NumberFormat("{:+.1f} %", 100)});
  }
  for (const RankStep& step : job.ranks) {
    std::vector<Value> row{step.rank, Seconds(step.begin_ps), Seconds(step.step_ps),
                           Seconds(step.waiting_ps)};
    if (AreMeasured(job)) {
      row.emplace_back(Seconds(step.measured_ps));
      row.emplace_back(ErrorOf(step));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Document DocumentOf(const RecordedJob& job, const RanksRequest& request) {
  Document document{.title = fmt::format("{}: {} ranks on {}", request.path, job.ranks.size(),
                                         request.cluster->name),
                    .kind = "Orrery prediction"};
  Document::Section& head = document.AddSection();
  const std::string host = HostText(job, request);
  head.Set("trace", request.path)
      .Set("gpu", request.gpu == nullptr ? "the recorded GPU" : request.gpu->name)
      .Set("cluster", request.cluster->name)
      .Set("kernel_times", KernelText(request))
      .Set("host", Value::Object().Set("source", host))
      .Say(fmt::format("kernels: {}{}", KernelText(request),
                       request.gpu == nullptr ? "" : " for " + request.gpu->name))
      .Say("host: " + host);
  Value ranks = Value::List();
  for (const RankStep& step : job.ranks) {
    ranks.Add(DataOf(step));
  }
  document.AddSection().Set("ranks", std::move(ranks)).Add(RankTable(job));
  document.AddSection().Add(Document::List{"not_modelled", "Not modelled", NotModelled(job)});
  return document;
}

}  // namespace

Result<report::Document> PredictRanks(trace::TraceSet& set, const RanksRequest& request) {
  static_cast<void>(trace::MatchAndAlign(set));
  workload::Job machine;
  machine.gpus = static_cast<int>(set.ranks.size());
  machine.cluster = *request.cluster;
  ORRERY_TRY(const std::unique_ptr<simulate::ClusterTimes> times,
             simulate::ClusterTimes::Of(machine));
  const simulate::IslandLinkClass links(
      static_cast<std::uint32_t>(std::max(request.cluster->island.gpus, 1)));
  simulate::RecordedJobSources sources{.times = times.get(),
                                       .links = &links,
                                       .gpu = request.gpu,
                                       .costs = nullptr,
                                       .host = request.host};
  ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(request.models));
  std::optional<kernel::MemoizedCostModel> costs;
  if (request.gpu != nullptr) {
    costs.emplace(models, *request.gpu);
    sources.costs = &*costs;
  }
  ORRERY_TRY(const RecordedJob job, simulate::PredictRecordedJob(set, sources));
  return DocumentOf(job, request);
}

}  // namespace orrery::cli
