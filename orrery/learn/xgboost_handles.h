#pragma once

#include <memory>
#include <span>
#include <string>

#include <xgboost/c_api.h>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"

namespace orrery::learn {

struct MatrixDeleter {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};

struct BoosterDeleter {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};

using MatrixHandle = std::unique_ptr<void, MatrixDeleter>;
using BoosterOwner = std::unique_ptr<void, BoosterDeleter>;

/// Turns the status of a call of XGBoost into ours.
[[nodiscard]] Status XgboostStatus(int code);

/// Copies rows with target and weight into XGBoost's form; NaN is missing.
[[nodiscard]] Result<MatrixHandle> MakeMatrix(const DataSet& data, std::span<const RowIndex> rows,
                                              int threads);

}  // namespace orrery::learn
