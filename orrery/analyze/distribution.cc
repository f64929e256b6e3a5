#include "orrery/analyze/distribution.h"

#include <algorithm>

#include "orrery/base/statistics.h"

namespace orrery::analyze {

Value Distribution(std::vector<double> values) {
  Value described = Value::Object();
  described.Set("count", values.size());
  if (values.empty()) {
    return described;
  }
  std::ranges::sort(values);
  return described.Set("mean", Mean(values))
      .Set("min", values.front())
      .Set("p50", Quantile(values, 0.5))
      .Set("p90", Quantile(values, 0.9))
      .Set("p99", Quantile(values, 0.99))
      .Set("max", values.back());
}

}  // namespace orrery::analyze
