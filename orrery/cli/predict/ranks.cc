#include "orrery/cli/predict/ranks.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/cli/kernel_models.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"
#include "orrery/kernel/memo.h"
#include "orrery/simulate/group_times.h"
#include "orrery/simulate/link_class.h"
#include "orrery/simulate/recorded_job.h"
#include "orrery/trace/clock_alignment.h"

namespace orrery::cli {
namespace {

using draw::JsonWriter;
using draw::TextTable;
using simulate::RankStep;
using simulate::RecordedJob;

double Seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-12;
}

std::string Milliseconds(std::int64_t picoseconds) {
  return fmt::format("{:.3f} ms", Seconds(picoseconds) * 1e3);
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

std::string RankTable(const RecordedJob& job) {
  const bool are_measured = AreMeasured(job);
  std::vector<TextTable::Column> columns{{"rank", TextTable::Align::kRight},
                                         {"begins after", TextTable::Align::kRight},
                                         {"step", TextTable::Align::kRight},
                                         {"waits for ranks", TextTable::Align::kRight}};
  if (are_measured) {
    columns.push_back({"measured", TextTable::Align::kRight});
    columns.push_back({"error", TextTable::Align::kRight});
  }
  TextTable table(columns);
  for (const RankStep& step : job.ranks) {
    std::vector<std::string> row{fmt::format("{}", step.rank), Milliseconds(step.begin_ps),
                                 Milliseconds(step.step_ps), Milliseconds(step.waiting_ps)};
    if (are_measured) {
      row.push_back(Milliseconds(step.measured_ps));
      row.push_back(fmt::format("{:+.1f} %", 100 * ErrorOf(step)));
    }
    table.AddRow(row);
  }
  return table.Render();
}

std::string TextOf(const RecordedJob& job, const RanksRequest& request) {
  std::string text =
      fmt::format("{}: {} ranks on {}\n", request.path, job.ranks.size(), request.cluster->name);
  text += fmt::format("kernels: {}{}\n", KernelText(request),
                      request.gpu == nullptr ? "" : " for " + request.gpu->name);
  text += fmt::format("host: {}\n\n", HostText(job, request));
  text += RankTable(job);
  for (const std::string& sentence : NotModelled(job)) {
    text += fmt::format("\nnot modelled: {}\n", sentence);
  }
  return text;
}

void WriteRank(const RankStep& step, JsonWriter& json) {
  json.BeginObject();
  json.Key("rank").Integer(step.rank);
  json.Key("begin_s").Number(Seconds(step.begin_ps));
  json.Key("step_time_s").Number(Seconds(step.step_ps));
  json.Key("wait_for_ranks_s").Number(Seconds(step.waiting_ps));
  if (step.measured_ps > 0) {
    json.Key("measured_step_s").Number(Seconds(step.measured_ps));
    json.Key("error").Number(ErrorOf(step));
  }
  json.EndObject();
}

std::string JsonOf(const RecordedJob& job, const RanksRequest& request) {
  JsonWriter json;
  json.BeginObject();
  json.Key("trace").String(request.path);
  json.Key("gpu").String(request.gpu == nullptr ? "the recorded GPU" : request.gpu->name);
  json.Key("cluster").String(request.cluster->name);
  json.Key("kernel_times").String(KernelText(request));
  json.Key("host").BeginObject();
  json.Key("source").String(HostText(job, request));
  json.EndObject();
  json.Key("ranks").BeginArray();
  for (const RankStep& step : job.ranks) {
    WriteRank(step, json);
  }
  json.EndArray();
  json.Key("not_modelled").BeginArray();
  for (const std::string& sentence : NotModelled(job)) {
    json.String(sentence);
  }
  json.EndArray();
  json.EndObject();
  return json.Finish();
}

}  // namespace

Result<std::string> PredictRanks(trace::TraceSet& set, const RanksRequest& request) {
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
  return request.as_json ? JsonOf(job, request) : TextOf(job, request);
}

}  // namespace orrery::cli
