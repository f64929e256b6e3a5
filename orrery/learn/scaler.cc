#include "orrery/learn/scaler.h"

#include <cmath>
#include <cstdint>

#include "orrery/base/check.h"
#include "orrery/base/statistics.h"
#include "orrery/learn/byte_planes.h"

namespace orrery::learn {
namespace {

std::vector<double> KnownValues(const DataSet& data, std::span<const RowIndex> rows,
                                std::size_t feature) {
  std::vector<double> values;
  for (const RowIndex row : rows) {
    const float value = data.Features(row)[feature];
    if (std::isfinite(value)) {
      values.push_back(value);
    }
  }
  return values;
}

double FactorFor(std::span<const double> values, double mean) {
  const double deviation = StandardDeviation(values);
  // Rounding leaves a constant column with a little spread that means nothing.
  return deviation > 1e-6 * std::abs(mean) && deviation > 0 ? 1 / deviation : 0;
}

}  // namespace

Scaler Scaler::ForRows(const DataSet& data, std::span<const RowIndex> rows) {
  Scaler scaler;
  for (std::size_t feature = 0; feature < data.num_features(); ++feature) {
    const std::vector<double> values = KnownValues(data, rows, feature);
    const double mean = values.empty() ? 0 : Mean(values);
    scaler.means_.push_back(static_cast<float>(mean));
    scaler.factors_.push_back(values.empty() ? 0.0F : static_cast<float>(FactorFor(values, mean)));
  }
  return scaler;
}

void Scaler::Scale(std::span<const float> row, std::span<float> scaled) const {
  ORRERY_CHECK(row.size() == num_features() && scaled.size() == num_features(),
               "a row has every feature");
  for (std::size_t feature = 0; feature < row.size(); ++feature) {
    const float value = (row[feature] - means_[feature]) * factors_[feature];
    scaled[feature] = std::isfinite(value) ? value : 0;
  }
}

void Scaler::Write(ByteWriter& writer) const {
  writer.Number(static_cast<std::uint32_t>(means_.size()));
  WriteFloats(writer, means_);
  WriteFloats(writer, factors_);
}

Scaler Scaler::Read(ByteReader& reader) {
  Scaler scaler;
  const std::size_t count = reader.Count(2 * sizeof(float));
  scaler.means_ = ReadFloats(reader, count);
  scaler.factors_ = ReadFloats(reader, count);
  return scaler;
}

}  // namespace orrery::learn
