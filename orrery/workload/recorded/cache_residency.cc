#include "orrery/workload/recorded/cache_residency.h"

#include <cstdint>
#include <unordered_map>

#include "orrery/kernel/aten/call.h"
#include "orrery/workload/recorded/aten_call.h"

namespace orrery::workload {
namespace {

double BytesOf(const kernel::AtenTensor& tensor) {
  return tensor.type ? static_cast<double>(tensor.Elements()) * kernel::ElementBytes(*tensor.type)
                     : 0;
}

/// Remembers how many bytes had been touched when each storage last was.
class Recency {
 public:
  explicit Recency(Bytes cache) : cache_(static_cast<double>(cache.count)) {}

  /// Whether the tensor's bytes are still there; the oldest of them were touched its own size ago.
  [[nodiscard]] bool IsWarm(const kernel::AtenTensor& tensor) const {
    const auto last = touched_at_.find(*tensor.storage);
    return last != touched_at_.end() && clock_ - last->second + BytesOf(tensor) < cache_;
  }

  void Touch(const kernel::AtenTensor& tensor) {
    clock_ += BytesOf(tensor);
    touched_at_[*tensor.storage] = clock_;
  }

 private:
  double cache_;
  double clock_ = 0;
  std::unordered_map<std::int64_t, double> touched_at_;
};

bool IsTraceable(const kernel::AtenTensor& tensor) {
  return tensor.is_defined && tensor.on_gpu && tensor.storage.has_value();
}

}  // namespace

std::vector<double> WarmShares(const trace::Trace& graph, std::span<const PricedCall> calls,
                               Bytes cache) {
  Recency recency(cache);
  std::vector<double> shares;
  shares.reserve(calls.size());
  for (const PricedCall& priced : calls) {
    const kernel::AtenCall call = CallOfNode(graph, priced.node);
    double read = 0;
    double warm = 0;
    for (const kernel::AtenTensor* input : call.InputTensors()) {
      if (IsTraceable(*input)) {
        read += BytesOf(*input);
        warm += recency.IsWarm(*input) ? BytesOf(*input) : 0;
      }
    }
    for (const kernel::AtenTensor* input : call.InputTensors()) {
      if (IsTraceable(*input)) {
        recency.Touch(*input);
      }
    }
    for (const kernel::AtenTensor& output : call.outputs) {
      if (IsTraceable(output)) {
        recency.Touch(output);
      }
    }
    shares.push_back(read > 0 ? warm / read : 0);
  }
  return shares;
}

}  // namespace orrery::workload
