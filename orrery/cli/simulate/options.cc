#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/simulate/simulate.h"
#include "orrery/cli/verb.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/simulation.h"

namespace orrery::cli {
namespace {

template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && !text.empty();
}

/// What stands before and after the first ':' of "rank=7:1.3", without the key.
struct Place {
  std::string_view number;
  std::string_view value;
};

std::optional<Place> PlaceOf(std::string_view text, std::string_view key) {
  const std::size_t colon = text.find(':');
  if (!text.starts_with(key) || colon == std::string_view::npos) {
    return std::nullopt;
  }
  return Place{text.substr(key.size(), colon - key.size()), text.substr(colon + 1)};
}

constexpr const char* kFooter =
    "JOB.yaml says model, training, plan and cluster (docs/formats/job.md; examples/ has some).\n"
    "Programs of other tools are simulated as well: a workload text of SimAI, a folder of Chakra\n"
    "traces (.et) with --cluster, graphs of Echo with --echo-ops and --cluster.\n"
    "--from FOLDER simulates the ranks that `orrery trace` recorded on one GPU as the whole "
    "job.\n\n"
    "The breakdown is that of the slowest rank, with most work of its own, and adds up to the "
    "step.\n"
    "Advice was simulated: each change is given with its gain and the gain's 80 % interval, and "
    "none\n"
    "below 1 %. A job that does not fit into memory is an answer, not an error: the first line "
    "says\n"
    "so, with what takes most.\n\n"
    "Examples:\n"
    "  orrery simulate examples/llama3-70b-512-h100.yaml --html step.html\n"
    "  orrery simulate job.yaml --set plan.tp=4 --set training.micro_batch=2\n"
    "  orrery simulate job.yaml --slow rank=7:1.3 --trace step.pftrace\n"
    "  orrery simulate job.yaml --gpu B200 --json\n"
    "  orrery simulate job.yaml --steps 1000 --html steps.html\n"
    "  orrery simulate job.yaml --gpu-of ranks=8-15:A100-80GB --fail node=0:nic=2\n"
    "  orrery simulate --from llama-1b-fsdp64 --world 1024\n"
    "  orrery simulate workload.txt --emulate simai --with nvlink=360,nic=48.5";

void AddWhatIfs(Verb& verb, SimulateArguments& arguments) {
  AddJobOptions(verb, arguments.job);
  verb.AddOption("--slow rank=N:FACTOR", arguments.slow,
                 "a rank whose kernels take longer: rank=7:1.3; may be repeated")
      .OneValueEach();
  verb.AddOption("--gpu-of ranks=A-B:NAME", arguments.gpu_of,
                 "ranks that have another GPU: ranks=8-15:A100-80GB; may be repeated")
      .OneValueEach();
  verb.AddOption("--fail node=N:nic=K", arguments.fail,
                 "a NIC that is down: node=3:nic=2; may be repeated")
      .OneValueEach();
  verb.AddOption("--degrade node=N:SHARE", arguments.degrade,
                 "a node whose NICs carry a share: node=3:0.5; may be repeated")
      .OneValueEach();
  AddNetworkOptions(verb, arguments.network);
  verb.AddOption("--placement", arguments.placement,
                 "which nodes several jobs get: packed (one job after the other, the default), "
                 "spread (one node each in turn), or their nodes: 0-7/8,10,12-17");
  verb.AddOption("--jitter", arguments.jitter, "spread of kernel times, relative: 0.02")
      .Range(0.0, 1.0);
  AddStepOptions(verb, arguments);
  AddOverlapOption(verb, arguments.overlap);
  verb.AddFlag("--no-fold", arguments.no_fold, "simulate every rank, including identical ones");
  verb.AddFlag("--step-only", arguments.is_step_only,
               "the step, its throughput and its memory only, several times as fast: no breakdown, "
               "no interval, no advice");
  verb.AddOption("--max-tasks", arguments.max_tasks,
                 "refuse a job whose step has more tasks (20000000; with flows 60000000)")
      .Positive();
}

}  // namespace

void AddSimulateOptions(Verb& verb, SimulateArguments& arguments) {
  verb.Footer(kFooter);
  verb.AddOption("JOB", arguments.inputs,
                 "a job, or a program of another tool; several jobs share one cluster");
  verb.AddOption(
      "--from FOLDER", arguments.from,
      "a job recorded by `orrery trace`, instead of JOB; or the output of Echo's tracer");
  verb.AddOption("--world", arguments.world,
                 "number of ranks of --from, by scaling data parallelism (as traced)")
      .Range(1, 1 << 20);
  AddWhatIfs(verb, arguments);
  AddOutputOptions(verb, arguments.output);
  verb.AddOption("--trace OUT", arguments.trace,
                 "write the step as traces: .orr, .json[.gz], .pftrace");
  AddKernelModelsOption(verb, arguments.job);
  verb.AddOption("--echo-ops FILE", arguments.echo_times,
                 "times of operators of Echo's tracer; JOB are its graphs");
  verb.AddOption("--gpus", arguments.gpus, "ranks of a graph of Echo (1)").Range(1, 1 << 20);
  verb.AddOption("--emulate,--play MODEL", arguments.emulated,
                 "predict a workload as its simulator does: simai; needs no cluster");
  verb.AddOption("--with KEY=VALUE,...", arguments.emulated_settings,
                 "settings of the model that is emulated, such as nvlink=360,nic=48.5");
}

Result<simulate::SlowRank> ParseSlowRank(const std::string& text) {
  simulate::SlowRank slow;
  const std::optional<Place> place = PlaceOf(text, "rank=");
  const bool is_read =
      place && ReadNumber(place->number, slow.rank) && ReadNumber(place->value, slow.factor);
  if (!is_read || !(slow.factor > 0) || slow.factor > 1e6) {
    return InvalidInput(
        "--slow {}: write it as rank=7:1.3, which makes rank 7 take 1.3 times as long", text);
  }
  return slow;
}

Result<std::string> GpuOfSetting(const std::string& text) {
  std::optional<Place> place = PlaceOf(text, "ranks=");
  if (!place) {
    place = PlaceOf(text, "rank=");
  }
  const bool is_read = place && !place->number.empty() && !place->value.empty() &&
                       place->number.find_first_not_of("0123456789-") == std::string_view::npos;
  if (!is_read) {
    return InvalidInput(
        "--gpu-of {}: write it as ranks=8-15:A100-80GB, which gives ranks 8 to 15 that GPU", text);
  }
  return fmt::format("gpu_of.{}={}", place->number, place->value);
}

Result<simulate::FailedNic> ParseFailedNic(const std::string& text) {
  constexpr std::string_view kNicKey = "nic=";
  simulate::FailedNic failed;
  const std::optional<Place> place = PlaceOf(text, "node=");
  const bool is_read = place && ReadNumber(place->number, failed.node) &&
                       place->value.starts_with(kNicKey) &&
                       ReadNumber(place->value.substr(kNicKey.size()), failed.nic);
  if (!is_read) {
    return InvalidInput("--fail {}: write it as node=3:nic=2, which takes NIC 2 from node 3", text);
  }
  return failed;
}

Result<simulate::SlowNode> ParseSlowNode(const std::string& text) {
  simulate::SlowNode slow;
  const std::optional<Place> place = PlaceOf(text, "node=");
  const bool is_read =
      place && ReadNumber(place->number, slow.node) && ReadNumber(place->value, slow.share);
  if (!is_read || !(slow.share > 0) || slow.share > 1) {
    return InvalidInput(
        "--degrade {}: write it as node=3:0.5, which leaves node 3 half of its network", text);
  }
  return slow;
}

Result<JobArguments> JobArgumentsOf(const SimulateArguments& arguments) {
  std::vector<std::string> of_ranks;
  for (const std::string& text : arguments.gpu_of) {
    ORRERY_TRY(of_ranks.emplace_back(), GpuOfSetting(text));
  }
  JobArguments job = arguments.job;
  job.settings.insert(job.settings.begin(), of_ranks.begin(), of_ranks.end());
  return job;
}

Result<simulate::SimulationOptions> EngineOptions(const SimulateArguments& arguments) {
  simulate::SimulationOptions options;
  options.folds = !arguments.no_fold;
  options.overlap = arguments.overlap;
  options.jitter = arguments.jitter;
  options.max_tasks = arguments.max_tasks;
  for (const std::string& text : arguments.slow) {
    ORRERY_TRY(options.slow_ranks.emplace_back(), ParseSlowRank(text));
  }
  for (const std::string& text : arguments.fail) {
    ORRERY_TRY(options.faults.failed_nics.emplace_back(), ParseFailedNic(text));
  }
  for (const std::string& text : arguments.degrade) {
    ORRERY_TRY(options.faults.slow_nodes.emplace_back(), ParseSlowNode(text));
  }
  return options;
}

}  // namespace orrery::cli
