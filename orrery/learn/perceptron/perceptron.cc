#include "orrery/learn/perceptron/perceptron.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "orrery/base/check.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/base/math/statistics.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/perceptron/perceptron_gradient.h"

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

constexpr std::size_t kBlockRows = 64;
// The GEMM processes columns in groups of up to eight and a remainder with other instructions;
// whole groups make a row's result independent of its position.
constexpr std::size_t kColumnGroup = 8;

constexpr std::uint32_t kMaxWidth = 1 << 16;

bool AreConsistent(const Perceptron::Parts& parts) {
  const std::vector<std::uint32_t>& widths = parts.widths;
  return widths.size() >= 2 && widths.back() == 1 &&
         widths.front() == parts.scaler.num_features() &&
         std::all_of(widths.begin(), widths.end(),
                     [](std::uint32_t width) { return width > 0 && width <= kMaxWidth; }) &&
         parts.parameters.size() == NumParameters(widths);
}

// The last layer has one output: a sum in double precision costs nothing there.
double LastSum(const LayerPlace& place, const float* parameters, const Eigen::MatrixXf& inputs,
               Eigen::Index column) {
  double sum = BiasesOf(place, parameters)[0];
  const float* const weights = parameters + place.weights;
  for (Eigen::Index input = 0; input < place.inputs; ++input) {
    sum += static_cast<double>(weights[input]) * static_cast<double>(inputs(input, column));
  }
  return sum;
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

Perceptron::Perceptron(Parts parts) : parts_(std::move(parts)) {
  ORRERY_CHECK(AreConsistent(parts_), "the parts of a network fit each other");
}

double Perceptron::Predict(std::span<const float> row) const {
  double prediction = 0;
  PredictBlock(row, {&prediction, 1});
  return prediction;
}

void Perceptron::PredictBlock(std::span<const float> rows, std::span<double> predictions) const {
  const std::size_t width = num_features();
  const std::size_t num_columns =
      (predictions.size() + kColumnGroup - 1) / kColumnGroup * kColumnGroup;
  Eigen::MatrixXf values = Eigen::MatrixXf::Zero(static_cast<Eigen::Index>(width),
                                                 static_cast<Eigen::Index>(num_columns));
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    parts_.scaler.Scale(rows.subspan(row * width, width), {values.data() + row * width, width});
  }
  const std::vector<LayerPlace> places = PlaceLayers(parts_.widths);
  for (std::size_t layer = 0; layer + 1 < places.size(); ++layer) {
    values =
        Activated(parts_.activation, ApplyLayer(places[layer], parts_.parameters.data(), values));
  }
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const double sum =
        LastSum(places.back(), parts_.parameters.data(), values, static_cast<Eigen::Index>(row));
    predictions[row] = parts_.target_mean + parts_.target_deviation * sum;
  }
}

std::vector<double> Perceptron::PredictRows(std::span<const float> rows, int threads) const {
  const std::size_t width = num_features();
  ORRERY_CHECK(rows.size() % width == 0, "every row has every feature");
  std::vector<double> predictions(rows.size() / width);
  const std::size_t num_blocks = (predictions.size() + kBlockRows - 1) / kBlockRows;
  ParallelFor(num_blocks, threads, [&](std::size_t block) {
    const std::size_t begin = block * kBlockRows;
    const std::size_t count = std::min(kBlockRows, predictions.size() - begin);
    PredictBlock(rows.subspan(begin * width, count * width),
                 std::span(predictions).subspan(begin, count));
  });
  return predictions;
}

std::string Perceptron::Encode() const {
  ByteWriter writer;
  parts_.scaler.Write(writer);
  WriteDouble(writer, parts_.target_mean);
  WriteDouble(writer, parts_.target_deviation);
  writer.Number(static_cast<std::uint8_t>(parts_.activation));
  writer.Number(static_cast<std::uint32_t>(parts_.widths.size()));
  for (const std::uint32_t width : parts_.widths) {
    writer.Number(width);
  }
  writer.Number(static_cast<std::uint32_t>(parts_.parameters.size()));
  WriteFloats(writer, parts_.parameters);
  return writer.bytes();
}

Result<Perceptron> Perceptron::Decode(std::string_view bytes) {
  ByteReader reader(bytes);
  Parts parts;
  parts.scaler = Scaler::Read(reader);
  parts.target_mean = ReadDouble(reader);
  parts.target_deviation = ReadDouble(reader);
  parts.activation = reader.EnumBelow<Activation>(2);
  parts.widths.resize(reader.Count(sizeof(std::uint32_t)));
  for (std::uint32_t& width : parts.widths) {
    width = reader.Number<std::uint32_t>();
  }
  parts.parameters = ReadFloats(reader, reader.Count(sizeof(float)));
  if (reader.failed() || reader.skipped_bytes() > 0 || !AreConsistent(parts)) {
    return Invalid("the network in the model file is damaged");
  }
  return Perceptron(std::move(parts));
}

}  // namespace orrery::learn
