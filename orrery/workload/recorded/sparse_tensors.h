#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

/// The indices and values of sparse tensors. An execution trace gives a sparse tensor the shape of
/// the dense one and no elements; how many it has is told by the calls that make it or ask for its
/// parts.
class SparseTensors {
 public:
  explicit SparseTensors(const trace::Trace& graph);

  /// Returns the call of a node with its sparse tensors replaced by their parts: by an empty tensor
  /// on the GPU where no call tells them.
  [[nodiscard]] kernel::AtenCall WithParts(RowId graph_node) const;

 private:
  struct Parts {
    kernel::AtenTensor indices = {.is_defined = false};
    kernel::AtenTensor values = {.is_defined = false};
  };

  void Note(const kernel::AtenCall& call);
  [[nodiscard]] std::vector<kernel::AtenTensor> PartsOf(const kernel::AtenTensor& tensor) const;

  const trace::Trace& graph_;
  std::map<std::int64_t, Parts> parts_of_tensor_;  // by its id
};

}  // namespace orrery::workload
