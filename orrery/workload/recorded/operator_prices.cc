#include "orrery/workload/recorded/operator_prices.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/priced_calls.h"

namespace orrery::workload {
namespace {

ModelPrice PriceOf(const PricedCall& call, const hardware::Gpu& gpu,
                   const kernel::CostModel& costs) {
  std::vector<kernel::Estimate> estimates(call.operators->size());
  costs.Predict(*call.operators, gpu, estimates);
  ModelPrice price{.operators = call.operators};
  for (const kernel::Estimate& estimate : estimates) {
    price.seconds += estimate.seconds;
    price.roofline_seconds += estimate.roofline_seconds;
    price.uncertainty = std::max(price.uncertainty, estimate.uncertainty);
    price.is_extrapolated = price.is_extrapolated || estimate.is_extrapolated;
    price.source = std::max(price.source, estimate.source);
  }
  return price;
}

}  // namespace

std::string ModelPrice::Text() const {
  std::string text;
  for (const kernel::Operator& op : *operators) {
    text += (text.empty() ? "" : ", ") + kernel::Text(op);
  }
  return text;
}

OperatorPrices::OperatorPrices(const trace::Trace& recording, const hardware::Gpu& gpu,
                               const kernel::CostModel& costs)
    : of_operator_(recording.host_ops.size(), kNoRow) {
  std::map<CallTexts, std::shared_ptr<const ModelPrice>> known;
  for (const PricedCall& call : PricedOperators(recording)) {
    if (call.meaning == kernel::AtenMeaning::kPriced && !call.operators->empty()) {
      of_operator_[call.node] = static_cast<RowId>(prices_.size());
      std::shared_ptr<const ModelPrice>& model = known[TextsOf(recording.host_ops, call.node)];
      if (model == nullptr) {
        model = std::make_shared<ModelPrice>(PriceOf(call, gpu, costs));
      }
      prices_.push_back({.host_op = call.node, .model = model});
    }
  }
  // The calls of an estimated call are part of it; parents come first.
  for (RowId op = 0; op < of_operator_.size(); ++op) {
    const RowId parent = recording.host_ops.parent[op];
    if (of_operator_[op] == kNoRow && parent != kNoRow) {
      of_operator_[op] = of_operator_[parent];
    }
  }
  for (RowId activity = 0; activity < recording.activities.size(); ++activity) {
    const RowId op = recording.activities.host_op[activity];
    if (op != kNoRow && of_operator_[op] != kNoRow) {
      OperatorPrice& price = prices_[of_operator_[op]];
      price.recorded_ns += recording.activities.duration_ns[activity];
      ++price.num_kernels;
    }
  }
}

}  // namespace orrery::workload
