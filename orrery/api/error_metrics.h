#pragma once

#include <cstdint>

#include "orrery/api/export.h"
#include "orrery/api/fields.h"

namespace orrery::api {

/// The error of a row is predicted / measured - 1. All metrics are in percent except the number of
/// rows and R²; without rows they are NaN, which JSON shows as null.
struct ErrorMetrics {
  std::int64_t rows = 0;
  double mape = 0;    // mean |error|
  double gmae = 0;    // geometric mean of |error|
  double median = 0;  // of |error|
  double p95 = 0;     // of |error|
  double r2 = 0;      // of ln time
  double bias = 0;    // mean error, with its sign
  double within_5 = 0;
  double within_10 = 0;
  double within_15 = 0;
  double error_of_sum = 0;  // with its sign
};

ORRERY_HAS_FIELDS(ErrorMetrics);

}  // namespace orrery::api
