#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/option_text.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/table.h"
#include "orrery/base/units.h"
#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"
#include "orrery/network/topology_text.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {
namespace {

using simulate::NetworkModel;
using simulate::Routing;

constexpr double kGiga = 1e9;

// The words of fields; front ends have checked them, callers in C++ have not.
template <typename Meaning>
Result<Meaning> MeaningOf(std::string_view option, const std::string& word,
                          const std::vector<std::pair<std::string_view, Meaning>>& meanings) {
  std::vector<std::string_view> words;
  for (const auto& [known, meaning] : meanings) {
    if (word == known) {
      return meaning;
    }
    words.push_back(known);
  }
  return InvalidInput("{}: '{}' is none of {}", option, word, fmt::join(words, "|"));
}

Result<NetworkModel> RequestedModel(const SimulateRequest& request) {
  if (request.network.empty()) {
    return NetworkModel::kDefault;
  }
  return MeaningOf<NetworkModel>("--network", request.network,
                                 {{"alone", NetworkModel::kAlone},
                                  {"flows", NetworkModel::kFlows},
                                  {"shared", NetworkModel::kShared}});
}

Result<Routing> RequestedRouting(const SimulateRequest& request) {
  if (request.routing.empty()) {
    return Routing::kAdaptive;
  }
  return MeaningOf<Routing>(
      "--routing", request.routing,
      {{"adaptive", Routing::kAdaptive}, {"hash", Routing::kHash}, {"spray", Routing::kSpray}});
}

Status CheckFlowOptions(const SimulateRequest& request, NetworkModel model) {
  if (model == NetworkModel::kDefault || model == NetworkModel::kFlows) {
    return {};
  }
  for (const auto& [option, is_given] : {std::pair("--topology", !request.topology.empty()),
                                         std::pair("--routing", !request.routing.empty()),
                                         std::pair("--congestion", !request.congestion.empty())}) {
    if (is_given) {
      return InvalidInput("{} is of --network flows; {} spreads traffic evenly", option,
                          simulate::Name(model));
    }
  }
  if (model == NetworkModel::kAlone && (request.oversubscribe > 0 || !request.background.empty())) {
    return InvalidInput(
        "--oversubscribe and --background need --network shared or flows: with alone, transfers "
        "share no links");
  }
  if (model == NetworkModel::kAlone && !request.checkpoint_traffic.empty()) {
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
Status ReadBackground(const SimulateRequest& request, simulate::NetworkOptions& options) {
  if (request.background.empty()) {
    return {};
  }
  const std::optional<double> share = ParseWhole<double>(request.background);
  if (!share) {
    ORRERY_TRY(options.background_flows, ReadBackground(request.background));
    return {};
  }
  if (!(*share >= 0) || *share >= 1) {
    return InvalidInput(
        "--background {}: a share of the network is at least 0 and below 1, or a file of flows",
        request.background);
  }
  options.background = *share;
  return {};
}

// Options that only flows understand choose them.
NetworkModel ChosenModel(const SimulateRequest& request, NetworkModel model,
                         const simulate::NetworkOptions& options) {
  const bool needs_flows = !request.topology.empty() || !request.routing.empty() ||
                           !request.congestion.empty() || !options.background_flows.empty();
  if (model == NetworkModel::kDefault && needs_flows) {
    return NetworkModel::kFlows;
  }
  const bool shares =
      request.oversubscribe > 0 || options.background > 0 || options.checkpoint.has_value();
  return model == NetworkModel::kDefault && shares ? NetworkModel::kShared : model;
}

}  // namespace

Result<NetworkInput> ReadNetwork(const SimulateRequest& request) {
  ORRERY_TRY(const NetworkModel model, RequestedModel(request));
  ORRERY_TRY_STATUS(CheckFlowOptions(request, model));
  NetworkInput input;
  ORRERY_TRY(input.options.routing, RequestedRouting(request));
  input.options.seed = static_cast<std::uint64_t>(request.routing_seed);
  input.options.oversubscription = request.oversubscribe;
  ORRERY_TRY_STATUS(ReadBackground(request, input.options));
  if (!request.checkpoint_traffic.empty()) {
    ORRERY_TRY(const Bandwidth storage, RateOf("--checkpoint-traffic", request.checkpoint_traffic));
    input.options.checkpoint = simulate::CheckpointWrite{.storage = storage};
  }
  input.options.model = ChosenModel(request, model, input.options);
  if (!request.topology.empty()) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(request.topology));
    ORRERY_TRY(network::Topology topology,
               network::ReadTopologyText(file.bytes(), request.topology));
    input.topology = std::make_unique<network::Topology>(std::move(topology));
    input.options.topology = input.topology.get();
  }
  if (!request.congestion.empty()) {
    ORRERY_TRY(network::CongestionModel congestion,
               network::FindCongestionModel(request.congestion));
    input.congestion = std::make_unique<network::CongestionModel>(std::move(congestion));
    input.options.congestion = input.congestion.get();
  }
  return input;
}

}  // namespace orrery::api
