#include "orrery/learn/xgboost_handles.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

namespace orrery::learn {
namespace {

std::vector<float> Gather(std::span<const double> values, std::span<const RowIndex> rows) {
  std::vector<float> gathered;
  gathered.reserve(rows.size());
  for (const RowIndex row : rows) {
    gathered.push_back(static_cast<float>(values[row]));
  }
  return gathered;
}

Status SetInfo(const MatrixHandle& matrix, const char* name, const std::vector<float>& values) {
  return XgboostStatus(XGDMatrixSetFloatInfo(matrix.get(), name, values.data(), values.size()));
}

}  // namespace

Status XgboostStatus(int code) {
  if (code == 0) {
    return {};
  }
  const std::string text = XGBGetLastError();
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("XGBoost refuses: {}", text.substr(0, text.find("\nStack"))));
}

Result<MatrixHandle> MakeMatrix(const DataSet& data, std::span<const RowIndex> rows, int threads) {
  const std::vector<float> features = data.FeaturesOf(rows);
  DMatrixHandle handle = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(
      XGDMatrixCreateFromMat_omp(features.data(), rows.size(), data.num_features(),
                                 std::numeric_limits<float>::quiet_NaN(), &handle, threads)));
  MatrixHandle matrix(handle);
  ORRERY_TRY_STATUS(SetInfo(matrix, "label", Gather(data.targets(), rows)));
  ORRERY_TRY_STATUS(SetInfo(matrix, "weight", Gather(data.weights(), rows)));
  return matrix;
}

}  // namespace orrery::learn
