#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/option_text.h"
#include "orrery/api/goodput.h"
#include "orrery/api/goodput/answer.h"
#include "orrery/api/input/price_list.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/math/round_up.h"
#include "orrery/base/text/duration_text.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/units.h"
#include "orrery/collective/request.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::api {
namespace {

constexpr double kPsOfSecond = 1e12;
constexpr double kMostSeconds = 100 * 86'400.0;  // that a window may have
constexpr std::int64_t kMostSpares = 1'000'000;
constexpr double kMostSlowness = 1'000;
constexpr double kMostEvents = 100'000;  // of a window: above, no job makes progress

Result<double> SecondsOf(std::string_view option, const std::string& text) {
  const Result<double> seconds = ParseSeconds(text);
  return seconds ? seconds : FailWithin(option, seconds);
}

// Longer times than any window take all of it.
std::int64_t Picoseconds(double seconds) {
  return std::llround(std::min(seconds, kMostSeconds) * kPsOfSecond);
}

/// Options that have a default, which is said where it is used.
class Defaults {
 public:
  explicit Defaults(std::vector<std::string>& assumed) : assumed_(assumed) {}

  std::string Or(const std::string& given, const char* option, const char* fallback,
                 const char* meaning) {
    if (given.empty()) {
      assumed_.push_back(fmt::format("{}: {} ({})", meaning, fallback, option));
    }
    return given.empty() ? fallback : given;
  }

 private:
  std::vector<std::string>& assumed_;
};

Result<std::optional<Bytes>> SizeOf(std::string_view option, const std::string& text) {
  if (text.empty()) {
    return std::optional<Bytes>();
  }
  const Result<Bytes> size = collective::ParseSize(text);
  if (!size) {
    return FailWithin(option, size);
  }
  return std::optional(*size);
}

// Replicas that a job can do without: experts that span several of them stay together.
std::int64_t DroppableReplicas(const workload::Plan& plan) {
  const int spanned = std::max(1, plan.ep * plan.expert_tp / std::max(1, plan.cp * plan.tp));
  return plan.dp % spanned == 0 ? plan.dp / spanned : 1;
}

simulate::GoodputJob JobOf(const GoodputStep& step) {
  const workload::Job& job = *step.job;
  const int per_node = std::max(1, std::min(job.cluster.gpus_per_node, job.gpus));
  return {.step_ps = step.step_ps,
          .nodes = DivideUp(job.gpus, per_node),
          .gpus = job.gpus,
          .gpus_per_node = per_node,
          .replicas = DroppableReplicas(job.plan)};
}

struct ReadFailures {
  simulate::JobFailures failures;
  std::string rates;
  double repair_s = 0;
  double planned_per_s = 0;  // interruptions that are no failures
};

ReadFailures FailuresOfSet(const simulate::FailureRates& set, const simulate::UnitCounts& counts,
                           std::string rates) {
  return {.failures = simulate::FailuresOf(set, counts),
          .rates = std::move(rates),
          .repair_s = set.repair_s,
          .planned_per_s = simulate::PlannedPerSecond(set, counts)};
}

const simulate::FailureRates* ShippedRates(std::string_view name) {
  const std::vector<simulate::FailureRates>& sets = simulate::ShippedFailureRates();
  const auto found = std::ranges::find(sets, name, &simulate::FailureRates::name);
  return found == sets.end() ? nullptr : &*found;
}

Result<ReadFailures> FailuresOfFile(const std::string& path, const simulate::UnitCounts& counts) {
  ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
  if (path.ends_with(".csv")) {
    Result<simulate::JobFailures> log = simulate::ReadFailureLog(file.bytes());
    if (!log) {
      return FailWithin(path, log);
    }
    return ReadFailures{*std::move(log), fmt::format("as logged in {}", path),
                        simulate::ShippedFailureRates().front().repair_s};
  }
  ORRERY_TRY(const std::vector<simulate::FailureRates> sets,
             simulate::ReadFailureRates(std::string(file.bytes()), path));
  return FailuresOfSet(sets.front(), counts, fmt::format("{} of {}", sets.front().name, path));
}

Result<ReadFailures> FailuresOf(const GoodputRequest& arguments,
                                const simulate::UnitCounts& counts) {
  const simulate::FailureRates& first = simulate::ShippedFailureRates().front();
  if (!arguments.node_mtbf.empty()) {
    if (!arguments.failures.empty()) {
      return InvalidInput("--node-mtbf {}: --failures {} gives the rates already; leave one out",
                          arguments.node_mtbf, arguments.failures);
    }
    ORRERY_TRY(const double mtbf_s, SecondsOf("--node-mtbf", arguments.node_mtbf));
    if (mtbf_s <= 0) {
      return InvalidInput(
          "--node-mtbf {}: must be above zero; --failures none simulates a month without failures",
          arguments.node_mtbf);
    }
    const double per_s = static_cast<double>(counts.nodes) / mtbf_s;
    return ReadFailures{
        simulate::ScaledTo(simulate::FailuresOf(first, counts), per_s),
        fmt::format("one of a node in {}, by cause as {}", arguments.node_mtbf, first.name),
        first.repair_s};
  }
  if (arguments.failures == "none") {
    return ReadFailures{{}, "none", first.repair_s};
  }
  const std::string& name = arguments.failures.empty() ? first.name : arguments.failures;
  if (const simulate::FailureRates* const rates = ShippedRates(name)) {
    return FailuresOfSet(*rates, counts, rates->name);
  }
  return FailuresOfFile(name, counts);
}

// "200d:1.3:1h": of one node, how much longer a step takes, until it is found.
Result<simulate::SlowNodes> SlowNodesOf(const std::string& text, std::int64_t nodes) {
  if (text.empty()) {
    return simulate::SlowNodes{};
  }
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second != std::string::npos) {
    const Result<double> mtbf_s = ParseSeconds(text.substr(0, first));
    const auto factor = ParseWhole<double>(text.substr(first + 1, second - first - 1));
    const Result<double> found_s = ParseSeconds(text.substr(second + 1));
    if (mtbf_s && *mtbf_s > 0 && factor && *factor >= 1 && *factor <= kMostSlowness && found_s) {
      return simulate::SlowNodes{.per_s = static_cast<double>(nodes) / *mtbf_s,
                                 .factor = *factor,
                                 .found_after_ps = Picoseconds(*found_s)};
    }
  }
  return InvalidInput(
      "--slow-nodes {}: write it as 200d:1.3:1h: a node becomes slow once in 200 days, makes steps "
      "1.3 times as long and is found after an hour",
      text);
}

Status ReadSpares(const std::string& text, simulate::GoodputRequest& request) {
  request.chooses_spares = text == "auto";
  if (request.chooses_spares) {
    return {};
  }
  const std::optional<std::int64_t> spares = ParseWhole<std::int64_t>(text);
  if (!spares || *spares < 0 || *spares > kMostSpares) {
    return InvalidInput("--spares {}: write a number of nodes, or auto", text);
  }
  request.options.spares = *spares;
  return {};
}

Status ReadTimes(const GoodputRequest& arguments, double default_repair_s,
                 std::vector<std::string>& assumed, simulate::GoodputOptions& options) {
  Defaults defaults(assumed);
  ORRERY_TRY(const double detect_s,
             SecondsOf("--detect", defaults.Or(arguments.detect, "--detect", "2m",
                                               "until a failure is detected")));
  ORRERY_TRY(const double restart_s,
             SecondsOf("--restart", defaults.Or(arguments.restart, "--restart", "8m",
                                                "to reschedule and initialise")));
  double repair_s = default_repair_s;
  if (arguments.repair.empty()) {
    assumed.push_back(
        fmt::format("until a failed node can be used again: {} (--repair)", SecondsText(repair_s)));
  } else {
    ORRERY_TRY(repair_s, SecondsOf("--repair", arguments.repair));
  }
  options.detect_ps = Picoseconds(detect_s);
  options.restart_ps = Picoseconds(restart_s);
  options.repair_ps = Picoseconds(repair_s);
  return {};
}

Result<simulate::CheckpointTimes> CheckpointTimesOf(const GoodputRequest& arguments,
                                                    const workload::Job& job,
                                                    GoodputSetting& setting) {
  ORRERY_TRY(const std::optional<Bytes> given,
             SizeOf("--checkpoint-size", arguments.checkpoint_size));
  setting.checkpoint = given.value_or(simulate::CheckpointBytes(job));
  ORRERY_TRY(const std::optional<Bytes> capacity,
             SizeOf("--storage-capacity", arguments.storage_capacity));
  // The one before stays until the next is durable.
  if (capacity && 2 * setting.checkpoint.count > capacity->count && arguments.checkpoint != "off") {
    return InvalidInput(
        "--storage-capacity {}: a checkpoint of {} and the one before it, which stays until it is "
        "written, do not fit",
        arguments.storage_capacity, draw::FormatBytes(setting.checkpoint));
  }
  Defaults defaults(setting.assumed);
  ORRERY_TRY(const Bandwidth storage,
             RateOf("--storage", defaults.Or(arguments.storage, "--storage", "200GB/s",
                                             "storage for checkpoints")));
  return simulate::TimesOf({.size = setting.checkpoint,
                            .storage = storage,
                            .host_link = job.gpu.host_link,
                            .gpus = job.gpus,
                            .is_asynchronous = arguments.async});
}

Status CheckTraffic(const GoodputRequest& arguments) {
  if (arguments.checkpoint_traffic && !arguments.async) {
    return InvalidInput(
        "--checkpoint-traffic needs --async: training waits for other checkpoints anyway");
  }
  if (arguments.checkpoint_traffic && !arguments.step_time.empty()) {
    return InvalidInput(
        "--checkpoint-traffic needs a simulated step: how much longer a measured one becomes is "
        "not known");
  }
  return {};
}

Status ReadInterval(const std::string& text, simulate::GoodputRequest& request) {
  request.chooses_interval = text == "auto";
  if (request.chooses_interval || text == "off") {
    return {};
  }
  ORRERY_TRY(const double interval_s, SecondsOf("--checkpoint", text));
  const simulate::CheckpointTimes& times = request.options.checkpoint;
  const double needed_s = static_cast<double>(times.stall_ps + times.write_ps) / kPsOfSecond;
  if (interval_s <= 0 || needed_s > interval_s) {
    return InvalidInput(
        "--checkpoint {}: a checkpoint takes {}, longer than its interval; take fewer, or faster "
        "--storage",
        text, SecondsText(needed_s));
  }
  request.options.interval_steps =
      simulate::IntervalSteps(interval_s, request.job.step_ps, times, request.options.window_ps);
  return {};
}

Status CheckEvents(const simulate::GoodputRequest& request) {
  const double per_s = request.failures.per_s() + request.options.slow.per_s;
  const double events = per_s * static_cast<double>(request.options.window_ps) / kPsOfSecond;
  if (events > kMostEvents) {
    return InvalidInput(
        "a failure or slow node every {} is more than a window is simulated with ({}): are the "
        "rates those of one node?",
        SecondsText(1 / per_s), draw::FormatCount(static_cast<std::int64_t>(kMostEvents)));
  }
  return {};
}

Status CheckChosenInterval(const simulate::GoodputRequest& request) {
  const simulate::CheckpointTimes& times = request.options.checkpoint;
  if (request.chooses_interval && times.stall_ps + times.write_ps > request.options.window_ps) {
    return InvalidInput("a checkpoint takes {}, longer than the {} of --days: faster --storage",
                        SecondsText(static_cast<double>(times.stall_ps + times.write_ps) * 1e-12),
                        SecondsText(static_cast<double>(request.options.window_ps) * 1e-12));
  }
  return {};
}

}  // namespace

Result<GoodputSetting> SettingOf(const GoodputRequest& arguments, const GoodputStep& step) {
  GoodputSetting setting;
  simulate::GoodputRequest& request = setting.request;
  simulate::GoodputOptions& options = request.options;
  const workload::Job& job = *step.job;
  request.job = JobOf(step);
  request.runs = arguments.runs;
  request.threads = arguments.threads;
  options.window_ps = Picoseconds(arguments.days * 86'400);
  options.seed = arguments.seed;
  options.is_elastic = arguments.elastic;
  const simulate::UnitCounts counts{.gpus = job.gpus,
                                    .nics = request.job.nodes * job.cluster.nics.per_node,
                                    .nodes = request.job.nodes};
  ORRERY_TRY(ReadFailures failures, FailuresOf(arguments, counts));
  if (arguments.node_mtbf.empty() && arguments.failures.empty()) {
    setting.assumed.push_back(fmt::format("failures as those of {} (--failures)", failures.rates));
  }
  if (failures.planned_per_s > 0) {
    setting.assumed.push_back(
        fmt::format("planned interruptions are no failures and left out: {:.2g} in the window, for "
                    "each of which "
                    "training stops at a checkpoint and is restarted",
                    failures.planned_per_s * arguments.days * 86'400));
  }
  request.failures = std::move(failures.failures);
  setting.rates = std::move(failures.rates);
  ORRERY_TRY_STATUS(ReadTimes(arguments, failures.repair_s, setting.assumed, options));
  ORRERY_TRY(options.slow, SlowNodesOf(arguments.slow_nodes, request.job.nodes));
  ORRERY_TRY_STATUS(CheckEvents(request));
  ORRERY_TRY_STATUS(ReadSpares(arguments.spares, request));
  ORRERY_TRY_STATUS(CheckTraffic(arguments));
  ORRERY_TRY(options.checkpoint, CheckpointTimesOf(arguments, job, setting));
  options.checkpoint.stall_ps += step.checkpoint_loss_ps;
  ORRERY_TRY_STATUS(ReadInterval(arguments.checkpoint, request));
  ORRERY_TRY_STATUS(CheckChosenInterval(request));
  // Months of a log are all the same.
  if (request.failures.is_log && options.slow.per_s == 0) {
    request.runs = 1;
  }
  return setting;
}

Result<std::optional<double>> DollarsPerHour(const std::string& price, const workload::Job& job,
                                             std::int64_t spare_gpus) {
  if (price.empty()) {
    return std::optional<double>();
  }
  ORRERY_TRY(const PriceList prices, ReadPrices(price));
  double sum = 0;
  for (const workload::GpuCount& count : workload::GpusOf(job)) {
    ORRERY_TRY(const double dollars, PriceOfGpu(prices, count.gpu->name));
    sum += dollars * count.ranks;
  }
  ORRERY_TRY(const double dollars, PriceOfGpu(prices, job.gpu.name));
  return std::optional(sum + dollars * static_cast<double>(spare_gpus));
}

}  // namespace orrery::api
