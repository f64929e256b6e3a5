#include "orrery/cli/simulate/options.h"

#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/cli/overlap_option.h"
#include "orrery/cli/verb.h"

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

tl::unexpected<Error> Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

constexpr const char* kFooter =
    "JOB.yaml says model, training, plan and cluster (docs/formats/job.md; examples/ has some).\n"
    "Programs of other tools are simulated as well: a workload text of SimAI, a folder of Chakra\n"
    "traces (.et) with --cluster, graphs of Echo with --echo-ops and --cluster.\n"
    "--from FOLDER simulates the ranks that `orrery trace` recorded on one GPU as the whole "
    "job.\n\n"
    "The breakdown is that of the slowest rank and adds up to the step. A job that does not fit\n"
    "into memory is an answer, not an error: the first line says so, with what takes most.\n\n"
    "Exit status: 0 answered, 2 unusable (one sentence names the key and the fix).\n\n"
    "Examples:\n"
    "  orrery simulate examples/llama3-70b-512-h100.yaml --html step.html\n"
    "  orrery simulate job.yaml --set plan.tp=4 --set training.micro_batch=2\n"
    "  orrery simulate job.yaml --slow rank=7:1.3 --trace step.pftrace\n"
    "  orrery simulate job.yaml --gpu B200 --json\n"
    "  orrery simulate job.yaml --gpu-of ranks=8-15:A100-80GB --fail node=0:nic=2\n"
    "  orrery simulate --from llama-1b-fsdp64 --world 1024\n"
    "  orrery simulate workload.txt --emulate simai --with nvlink=360,nic=48.5";

void AddWhatIfs(Verb& verb, SimulateArguments& arguments) {
  verb.AddOption("--set", arguments.settings, "change a key of the job: plan.tp=4; may be repeated")
      .TypeName("KEY=VALUE")
      .OneValueEach();
  verb.AddOption("--gpu", arguments.gpu, "another GPU of data/hardware/gpus.yaml").TypeName("NAME");
  verb.AddOption("--cluster", arguments.cluster, "another machine of data/hardware/clusters.yaml")
      .TypeName("NAME");
  verb.AddOption("--slow", arguments.slow,
                 "a rank whose kernels take longer: rank=7:1.3; may be repeated")
      .TypeName("rank=N:FACTOR")
      .OneValueEach();
  verb.AddOption("--gpu-of", arguments.gpu_of,
                 "ranks that have another GPU: ranks=8-15:A100-80GB; may be repeated")
      .TypeName("ranks=A-B:NAME")
      .OneValueEach();
  verb.AddOption("--fail", arguments.fail, "a NIC that is down: node=3:nic=2; may be repeated")
      .TypeName("node=N:nic=K")
      .OneValueEach();
  verb.AddOption("--degrade", arguments.degrade,
                 "a node whose NICs carry a share: node=3:0.5; may be repeated")
      .TypeName("node=N:SHARE")
      .OneValueEach();
  verb.AddOption("--jitter", arguments.jitter, "spread of kernel times, relative: 0.02")
      .Range(0.0, 1.0);
  AddOverlapOption(verb, arguments.overlap);
  verb.AddFlag("--no-fold", arguments.no_fold, "simulate every rank, also those that are alike");
}

}  // namespace

void AddSimulateOptions(Verb& verb, SimulateArguments& arguments) {
  verb.Footer(kFooter);
  verb.AddOption("JOB", arguments.inputs, "a job, or a program of another tool");
  verb.AddOption("--from", arguments.from,
                 "a job that `orrery trace` recorded, instead of JOB; or what Echo's tracer wrote")
      .TypeName("FOLDER");
  verb.AddOption("--world", arguments.world,
                 "ranks of the job of --from: more or fewer that are data-parallel (as traced)")
      .Range(1, 1 << 20);
  AddWhatIfs(verb, arguments);
  AddOutputOptions(verb, arguments.output);
  verb.AddOption("--trace", arguments.trace, "write the step as traces: .orr, .json[.gz], .pftrace")
      .TypeName("OUT");
  verb.AddOption("--models", arguments.kernel_models,
                 "models of `orrery fit kernels`, instead of the shipped ones")
      .TypeName("FILE");
  verb.AddOption("--echo-ops", arguments.echo_times,
                 "times of operators of Echo's tracer; JOB are its graphs")
      .TypeName("FILE");
  verb.AddOption("--gpus", arguments.gpus, "ranks of a graph of Echo (1)").Range(1, 1 << 20);
  verb.AddOption("--emulate,--play", arguments.emulated,
                 "what another simulator would say of its workload: simai; no cluster is needed")
      .TypeName("MODEL");
  verb.AddOption("--with", arguments.emulated_settings,
                 "settings of the model that is emulated, such as nvlink=360,nic=48.5")
      .TypeName("KEY=VALUE,...");
}

Result<simulate::SlowRank> ParseSlowRank(const std::string& text) {
  simulate::SlowRank slow;
  const std::optional<Place> place = PlaceOf(text, "rank=");
  const bool is_read =
      place && ReadNumber(place->number, slow.rank) && ReadNumber(place->value, slow.factor);
  if (!is_read || !(slow.factor > 0) || slow.factor > 1e6) {
    return Refuse(fmt::format(
        "--slow {}: write it as rank=7:1.3, which makes rank 7 take 1.3 times as long", text));
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
    return Refuse(fmt::format(
        "--gpu-of {}: write it as ranks=8-15:A100-80GB, which gives ranks 8 to 15 that GPU", text));
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
    return Refuse(
        fmt::format("--fail {}: write it as node=3:nic=2, which takes NIC 2 from node 3", text));
  }
  return failed;
}

Result<simulate::SlowNode> ParseSlowNode(const std::string& text) {
  simulate::SlowNode slow;
  const std::optional<Place> place = PlaceOf(text, "node=");
  const bool is_read =
      place && ReadNumber(place->number, slow.node) && ReadNumber(place->value, slow.share);
  if (!is_read || !(slow.share > 0) || slow.share > 1) {
    return Refuse(fmt::format(
        "--degrade {}: write it as node=3:0.5, which leaves node 3 half of its network", text));
  }
  return slow;
}

Result<simulate::SimulationOptions> EngineOptions(const SimulateArguments& arguments) {
  simulate::SimulationOptions options;
  options.folds = !arguments.no_fold;
  options.overlap = arguments.overlap;
  options.jitter = arguments.jitter;
  for (const std::string& text : arguments.slow) {
    ORRERY_TRY(const simulate::SlowRank slow, ParseSlowRank(text));
    options.slow_ranks.push_back(slow);
  }
  for (const std::string& text : arguments.fail) {
    ORRERY_TRY(const simulate::FailedNic failed, ParseFailedNic(text));
    options.faults.failed_nics.push_back(failed);
  }
  for (const std::string& text : arguments.degrade) {
    ORRERY_TRY(const simulate::SlowNode slow, ParseSlowNode(text));
    options.faults.slow_nodes.push_back(slow);
  }
  return options;
}

}  // namespace orrery::cli
