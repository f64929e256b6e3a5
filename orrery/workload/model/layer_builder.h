#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/kernel/operator.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// An image of one sample between two layers.
struct ImageShape {
  std::int64_t channels = 3;
  std::int64_t height = 224;
  std::int64_t width = 224;

  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
};

struct ConvShape {
  std::int64_t channels = 0;  // of the result
  std::int64_t height = 1;    // of the kernel
  std::int64_t width = 1;
  std::int64_t stride = 1;
  bool keeps_size = true;  // padded by half of the kernel; else not at all
};

/// Writes a network down layer by layer; each layer reads what the one before it made. Branches
/// are written one after another, with `Continue` back to where they part.
class LayerBuilder {
 public:
  LayerBuilder(ImageShape image, kernel::DataType type) : image_(image), type_(type) {}

  [[nodiscard]] const ImageShape& image() const { return image_; }

  void Continue(const ImageShape& image) { image_ = image; }

  /// A convolution with a bias.
  void Conv(const ConvShape& shape);
  /// A convolution and batch normalisation, one layer.
  void ConvNorm(const ConvShape& shape);
  void Relu();
  /// The sum of two branches.
  void Add();
  void Concat(std::int64_t parts, std::int64_t channels);
  void MaxPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  void AvgPool(std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  void Linear(std::int64_t outputs);
  void Dropout();

  [[nodiscard]] LayerList Take() && { return std::move(list_); }

 private:
  ListedLayer& AddLayer(std::string_view kind);
  void Convolve(const ConvShape& shape, ListedLayer& layer);
  void Pool(kernel::OperatorKind kind, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  [[nodiscard]] kernel::Operator Elementwise(std::string_view function, int reads) const;

  ImageShape image_;
  kernel::DataType type_;
  LayerList list_;
};

}  // namespace orrery::workload
