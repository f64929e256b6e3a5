#include "orrery/workload/import/inputs_first.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace orrery::workload {

std::vector<std::size_t> InputsFirst(const std::vector<std::vector<std::size_t>>& inputs) {
  std::vector<std::vector<std::size_t>> outputs(inputs.size());
  std::vector<std::size_t> num_missing(inputs.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t node = 0; node < inputs.size(); ++node) {
    num_missing[node] = inputs[node].size();
    for (const std::size_t input : inputs[node]) {
      outputs[input].push_back(node);
    }
    if (inputs[node].empty()) {
      ready.push(node);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t output : outputs[node]) {
      if (--num_missing[output] == 0) {
        ready.push(output);
      }
    }
  }
  return order;
}

std::size_t FirstMissing(const std::vector<std::size_t>& order, std::size_t num_nodes) {
  std::vector<bool> is_there(num_nodes);
  for (const std::size_t node : order) {
    is_there[node] = true;
  }
  return static_cast<std::size_t>(std::find(is_there.begin(), is_there.end(), false) -
                                  is_there.begin());
}

}  // namespace orrery::workload
