#include "orrery/workload/recorded/recorded_communications.h"

#include <algorithm>
#include <optional>
#include <string>

#include "orrery/trace/collective_groups.h"
#include "orrery/workload/recorded/aten_call.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using collective::Element;
using trace::Trace;

std::optional<CollectiveKind> KindOf(trace::CollectiveKind kind) {
  switch (kind) {
    case trace::CollectiveKind::kAllReduce:
      return CollectiveKind::kAllReduce;
    case trace::CollectiveKind::kAllGather:
      return CollectiveKind::kAllGather;
    case trace::CollectiveKind::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case trace::CollectiveKind::kAllToAll:
      return CollectiveKind::kAllToAll;
    case trace::CollectiveKind::kBroadcast:
      return CollectiveKind::kBroadcast;
    case trace::CollectiveKind::kReduce:
      return CollectiveKind::kReduce;
    case trace::CollectiveKind::kBarrier:
      return CollectiveKind::kBarrier;
    default:
      return std::nullopt;
  }
}

Element ElementOf(trace::DataType type) {
  switch (type) {
    case trace::DataType::kFloat64:
      return Element::kDouble;
    case trace::DataType::kFloat16:
      return Element::kHalf;
    case trace::DataType::kBFloat16:
      return Element::kBfloat16;
    case trace::DataType::kFloat8E4M3:
    case trace::DataType::kFloat8E5M2:
    case trace::DataType::kFloat8Other:
      return Element::kFp8;
    case trace::DataType::kInt64:
      return Element::kInt64;
    case trace::DataType::kInt32:
      return Element::kInt32;
    case trace::DataType::kInt8:
    case trace::DataType::kUInt8:
    case trace::DataType::kBool:
      return Element::kInt8;
    default:
      return Element::kFloat;
  }
}

/// The full side.
std::int64_t BytesOf(const Trace& graph, RowId row) {
  const bool is_gather = graph.collectives.kind[row] == trace::CollectiveKind::kAllGather;
  const std::int64_t in = graph.collectives.in_bytes[row];
  const std::int64_t out = graph.collectives.out_bytes[row];
  return std::max<std::int64_t>(is_gather ? std::max(in, out) : (in >= 0 ? in : out), 0);
}

std::string RoleOf(const Trace& graph, RowId group) {
  const auto found = group == kNoRow ? std::nullopt : trace::IdentifyGroup(graph, group, false);
  return found ? found->key : "all";
}

void AddStorage(const kernel::AtenTensor& tensor, std::vector<std::int64_t>& storages) {
  if (tensor.is_defined && tensor.on_gpu && tensor.storage) {
    storages.push_back(*tensor.storage);
  }
}

}  // namespace

std::map<RowId, RecordedCommunication> CommunicationsOf(const Trace& graph,
                                                        trace::ProblemLog& problems) {
  std::map<RowId, RecordedCommunication> communications;
  for (RowId row = 0; row < graph.collectives.size(); ++row) {
    const RowId node = graph.collectives.graph_node[row];
    const std::optional<CollectiveKind> kind = KindOf(graph.collectives.kind[row]);
    if (node == kNoRow || !kind) {
      problems.Loss(node == kNoRow ? "collectives without a node in the execution trace"
                                   : "messages and collectives of an unsupported kind",
                    1, graph.Text(graph.collectives.name[row]));
      continue;
    }
    communications.emplace(
        node, RecordedCommunication{.role = RoleOf(graph, graph.collectives.group[row]),
                                    .kind = *kind,
                                    .bytes = BytesOf(graph, row),
                                    .element = ElementOf(graph.collectives.data_type[row])});
  }
  return communications;
}

PriceNode WithCommunications(const std::map<RowId, RecordedCommunication>& communications,
                             const PriceNode& price) {
  return [&communications, &price](RowId node) {
    const auto found = communications.find(node);
    if (found == communications.end()) {
      return price(node);
    }
    DeviceTask task{.name = std::string(collective::Name(found->second.kind))};
    task.communication = found->second;
    return std::vector<DeviceTask>{std::move(task)};
  };
}

std::vector<std::int64_t> TouchedStorages(const Trace& graph, RowId node) {
  const kernel::AtenCall call = CallOfNode(graph, node);
  std::vector<std::int64_t> storages;
  for (const kernel::AtenTensor* input : call.InputTensors()) {
    AddStorage(*input, storages);
  }
  for (const kernel::AtenTensor& output : call.outputs) {
    AddStorage(output, storages);
  }
  return storages;
}

std::vector<std::int64_t> WrittenStorages(const Trace& graph, RowId node) {
  std::vector<std::int64_t> storages;
  for (const kernel::AtenTensor& output : CallOfNode(graph, node).outputs) {
    AddStorage(output, storages);
  }
  return storages.empty() ? TouchedStorages(graph, node) : storages;
}

}  // namespace orrery::workload
