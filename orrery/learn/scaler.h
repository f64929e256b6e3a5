#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orrery/base/byte_cursor.h"
#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// Brings features to mean 0 and standard deviation 1, as the rows it was made from have them. A
/// missing value becomes the mean, so 0; a feature that never changes becomes 0.
class Scaler {
 public:
  Scaler() = default;

  [[nodiscard]] static Scaler ForRows(const DataSet& data, std::span<const RowIndex> rows);

  /// Writes the scaled values of one row to `scaled`.
  void Scale(std::span<const float> row, std::span<float> scaled) const;

  [[nodiscard]] std::size_t num_features() const { return means_.size(); }

  void Write(ByteWriter& writer) const;
  [[nodiscard]] static Scaler Read(ByteReader& reader);

 private:
  std::vector<float> means_;
  std::vector<float> factors_;  // one over the standard deviation, or 0
};

}  // namespace orrery::learn
