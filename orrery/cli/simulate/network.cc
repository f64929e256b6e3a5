#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/mapped_file.h"
#include "orrery/base/parse_number.h"
#include "orrery/base/table.h"
#include "orrery/base/units.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/simulate/simulate.h"
#include "orrery/cli/verb.h"
#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"
#include "orrery/network/topology_text.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/simulation.h"

namespace orrery::cli {
namespace {

using simulate::NetworkModel;
using simulate::Routing;

constexpr double kGiga = 1e9;

Status CheckFlowOptions(const NetworkArguments& arguments) {
  if (arguments.model == NetworkModel::kDefault || arguments.model == NetworkModel::kFlows) {
    return {};
  }
  for (const auto& [option, is_given] :
       {std::pair("--topology", !arguments.topology.empty()),
        std::pair("--routing", arguments.routing.has_value()),
        std::pair("--congestion", !arguments.congestion.empty())}) {
    if (is_given) {
      return InvalidInput("{} is of --network flows; {} spreads traffic evenly", option,
                          simulate::Name(arguments.model));
    }
  }
  if (arguments.model == NetworkModel::kAlone &&
      (arguments.oversubscription > 0 || !arguments.background.empty())) {
    return InvalidInput(
        "--oversubscribe and --background need --network shared or flows: with alone, transfers "
        "share no links");
  }
  if (arguments.model == NetworkModel::kAlone && !arguments.checkpoint.empty()) {
    return InvalidInput(
        "--checkpoint-traffic needs --network shared or flows: with alone, transfers share no "
        "links");
  }
  return {};
}

Result<std::vector<simulate::BackgroundFlow>> ReadBackground(const std::string& path) {
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  if (!table.FindColumn("from") || !table.FindColumn("to") || !table.FindColumn("gbps")) {
    return InvalidInput(
        "{}: background traffic needs the columns from, to (numbers of GPUs) and gbps (gigabytes a "
        "second)",
        path);
  }
  std::vector<simulate::BackgroundFlow> flows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const std::optional<std::int64_t> source = table.Integer(row, "from");
    const std::optional<std::int64_t> target = table.Integer(row, "to");
    const std::optional<double> rate = table.Number(row, "gbps");
    if (!source || !target || !rate || *source < 0 || *target < 0 || !(*rate > 0)) {
      return InvalidInput("{}: row {} must have two numbers of GPUs and a rate above 0", path,
                          row + 1);
    }
    flows.push_back({.from = static_cast<network::GpuId>(*source),
                     .to = static_cast<network::GpuId>(*target),
                     .bytes_per_second = *rate * kGiga});
  }
  return flows;
}

// A share, or a file of flows.
Status ReadBackground(const NetworkArguments& arguments, simulate::NetworkOptions& options) {
  if (arguments.background.empty()) {
    return {};
  }
  const std::optional<double> share = ParseWhole<double>(arguments.background);
  if (!share) {
    ORRERY_TRY(options.background_flows, ReadBackground(arguments.background));
    return {};
  }
  if (!(*share >= 0) || *share >= 1) {
    return InvalidInput(
        "--background {}: a share of the network is at least 0 and below 1, or a file of flows",
        arguments.background);
  }
  options.background = *share;
  return {};
}

// Options that only flows understand choose them.
NetworkModel ModelOf(const NetworkArguments& arguments, const simulate::NetworkOptions& options) {
  const bool needs_flows = !arguments.topology.empty() || arguments.routing.has_value() ||
                           !arguments.congestion.empty() || !options.background_flows.empty();
  if (arguments.model == NetworkModel::kDefault && needs_flows) {
    return NetworkModel::kFlows;
  }
  const bool shares =
      arguments.oversubscription > 0 || options.background > 0 || options.checkpoint.has_value();
  return arguments.model == NetworkModel::kDefault && shares ? NetworkModel::kShared
                                                             : arguments.model;
}

}  // namespace

void AddNetworkOptions(Verb& verb, NetworkArguments& arguments) {
  verb.AddChoice("--network", arguments.model,
                 {{"alone", NetworkModel::kAlone},
                  {"shared", NetworkModel::kShared},
                  {"flows", NetworkModel::kFlows}},
                 "how transfers of different groups share the network: not at all, NICs, links of "
                 "GPUs and first switches, or every link with routes (default: shared over several "
                 "nodes)");
  verb.AddOption("--topology FILE", arguments.topology,
                 "links and switches instead of the cluster's: our YAML, SimAI's text, ASTRA-sim's "
                 "YAML; flows");
  verb.AddChoice("--routing", arguments.routing,
                 {{"hash", std::optional(Routing::kHash)},
                  {"adaptive", std::optional(Routing::kAdaptive)},
                  {"spray", std::optional(Routing::kSpray)}},
                 "how switches choose between equal paths: ECMP by a hash, by bandwidth, evenly; "
                 "flows (default: adaptive)");
  verb.AddOption("--routing-seed", arguments.seed, "of the hash (0)").NonNegative();
  verb.AddOption("--oversubscribe FACTOR", arguments.oversubscription,
                 "bandwidth below first switches over that above them: 7")
      .Range(1.0, 1000.0);
  verb.AddOption("--background SHARE|FILE", arguments.background,
                 "other traffic: a share of NICs and switches, or a CSV of from,to,gbps; flows");
  verb.AddOption("--congestion", arguments.congestion,
                 "what happens when transfers compete for a link: none, ecn, lossless (PFC: links "
                 "in front of it pause, and hold others back), sprayed; flows (default: none)");
  verb.AddOption("--checkpoint-traffic RATE", arguments.checkpoint,
                 "an asynchronous checkpoint is written beside the step, over the NICs, to storage "
                 "that takes this rate of all ranks together: 200GB/s");
}

Result<NetworkInput> ReadNetwork(const NetworkArguments& arguments) {
  ORRERY_TRY_STATUS(CheckFlowOptions(arguments));
  NetworkInput input;
  input.options.routing = arguments.routing.value_or(Routing::kAdaptive);
  input.options.seed = static_cast<std::uint64_t>(arguments.seed);
  input.options.oversubscription = arguments.oversubscription;
  ORRERY_TRY_STATUS(ReadBackground(arguments, input.options));
  if (!arguments.checkpoint.empty()) {
    ORRERY_TRY(const Bandwidth storage, RateOf("--checkpoint-traffic", arguments.checkpoint));
    input.options.checkpoint = simulate::CheckpointWrite{.storage = storage};
  }
  input.options.model = ModelOf(arguments, input.options);
  if (!arguments.topology.empty()) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(arguments.topology));
    ORRERY_TRY(network::Topology topology,
               network::ReadTopologyText(file.bytes(), arguments.topology));
    input.topology = std::make_unique<network::Topology>(std::move(topology));
    input.options.topology = input.topology.get();
  }
  if (!arguments.congestion.empty()) {
    ORRERY_TRY(network::CongestionModel model, network::FindCongestionModel(arguments.congestion));
    input.congestion = std::make_unique<network::CongestionModel>(std::move(model));
    input.options.congestion = input.congestion.get();
  }
  return input;
}

}  // namespace orrery::cli
