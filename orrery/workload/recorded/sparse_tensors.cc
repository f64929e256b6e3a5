#include "orrery/workload/recorded/sparse_tensors.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/recorded_call.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using kernel::AtenCall;
using kernel::AtenTensor;

bool IsSparse(const AtenTensor& tensor) {
  return tensor.is_sparse && tensor.id;
}

bool HasSparse(const AtenCall& call) {
  const std::vector<const AtenTensor*> inputs = call.InputTensors();
  return std::ranges::any_of(inputs, [](const AtenTensor* tensor) { return IsSparse(*tensor); }) ||
         std::ranges::any_of(call.outputs, IsSparse);
}

}  // namespace

SparseTensors::SparseTensors(const trace::Trace& graph) : graph_(graph) {
  for (RowId node = 0; node < graph.graph_nodes.size(); ++node) {
    const std::string_view name = graph.Text(graph.graph_nodes.name[node]);
    if (name == "aten::_indices" || name == "aten::_values" || name == "aten::indices" ||
        name == "aten::values" || name.starts_with("aten::_sparse_coo_tensor")) {
      Note(kernel::CallOfNode(graph, node));
    }
  }
}

void SparseTensors::Note(const AtenCall& call) {
  const std::vector<const AtenTensor*> inputs = call.InputTensors();
  const AtenTensor* const output = call.Output();
  if (inputs.empty() || output == nullptr) {
    return;
  }
  if (IsSparse(*output) && inputs.size() >= 2) {
    parts_of_tensor_[*output->id] = {.indices = *inputs[0], .values = *inputs[1]};
  } else if (IsSparse(*inputs[0])) {
    Parts& parts = parts_of_tensor_[*inputs[0]->id];
    (call.name.ends_with("indices") ? parts.indices : parts.values) = *output;
  }
}

std::vector<AtenTensor> SparseTensors::PartsOf(const AtenTensor& tensor) const {
  const auto found = parts_of_tensor_.find(*tensor.id);
  if (found == parts_of_tensor_.end()) {
    return {AtenTensor{.dims = {0}, .type = tensor.type}};
  }
  std::vector<AtenTensor> parts;
  for (const AtenTensor* part : {&found->second.indices, &found->second.values}) {
    if (part->is_defined) {
      parts.push_back(*part);
    }
  }
  return parts;
}

AtenCall SparseTensors::WithParts(RowId graph_node) const {
  AtenCall call = kernel::CallOfNode(graph_, graph_node);
  if (!HasSparse(call)) {
    return call;
  }
  call.has_sparse = true;
  for (kernel::AtenValue& input : call.inputs) {
    const auto* const tensor = std::get_if<AtenTensor>(&input);
    if (tensor != nullptr && IsSparse(*tensor)) {
      input = PartsOf(*tensor);
    }
  }
  std::vector<AtenTensor> outputs;
  for (const AtenTensor& output : call.outputs) {
    const std::vector<AtenTensor> parts =
        IsSparse(output) ? PartsOf(output) : std::vector<AtenTensor>{output};
    outputs.insert(outputs.end(), parts.begin(), parts.end());
  }
  call.outputs = std::move(outputs);
  return call;
}

}  // namespace orrery::workload
