#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

template <typename T>
const T* ValueAt(const AtenCall& call, std::size_t position) {
  return position < call.inputs.size() ? std::get_if<T>(&call.inputs[position]) : nullptr;
}

}  // namespace

std::int64_t AtenTensor::Elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    elements = Times(elements, std::max<std::int64_t>(dim, 0));
  }
  return elements;
}

double AtenTensor::Bytes() const {
  const double size = element_bytes > 0 ? element_bytes : type ? ElementBytes(*type) : 0;
  return is_defined ? static_cast<double>(Elements()) * size : 0;
}

std::int64_t AtenTensor::Stride(std::size_t dim) const {
  if (dim < strides.size()) {
    return strides[dim];
  }
  std::int64_t stride = 1;
  for (std::size_t inner = dim + 1; inner < dims.size(); ++inner) {
    stride = Times(stride, std::max<std::int64_t>(dims[inner], 1));
  }
  return stride;
}

const AtenTensor* AtenCall::TensorAt(std::size_t position) const {
  const auto* tensor = ValueAt<AtenTensor>(*this, position);
  return tensor != nullptr && tensor->is_defined ? tensor : nullptr;
}

const AtenTensor* AtenCall::TensorAt(std::size_t position, std::size_t num_dims) const {
  const AtenTensor* tensor = TensorAt(position);
  return tensor != nullptr && tensor->dims.size() == num_dims ? tensor : nullptr;
}

std::span<const AtenTensor> AtenCall::TensorsAt(std::size_t position) const {
  const auto* tensors = ValueAt<std::vector<AtenTensor>>(*this, position);
  return tensors != nullptr ? std::span<const AtenTensor>(*tensors) : std::span<const AtenTensor>();
}

std::vector<std::int64_t> AtenCall::IntegersAt(std::size_t position) const {
  if (const auto* list = ValueAt<std::vector<std::int64_t>>(*this, position)) {
    return *list;
  }
  const auto one = IntegerAt(position);
  return one ? std::vector<std::int64_t>{*one} : std::vector<std::int64_t>{};
}

std::optional<std::int64_t> AtenCall::IntegerAt(std::size_t position) const {
  const auto* integer = ValueAt<std::int64_t>(*this, position);
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::optional<double> AtenCall::NumberAt(std::size_t position) const {
  if (const auto* number = ValueAt<double>(*this, position)) {
    return *number;
  }
  const auto integer = IntegerAt(position);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

bool AtenCall::IsTrueAt(std::size_t position) const {
  return IntegerAt(position).value_or(0) != 0;
}

std::string_view AtenCall::TextAt(std::size_t position) const {
  const auto* text = ValueAt<std::string>(*this, position);
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

const AtenTensor* AtenCall::Output() const {
  return !outputs.empty() && outputs.front().is_defined ? &outputs.front() : nullptr;
}

std::vector<const AtenTensor*> AtenCall::InputTensors() const {
  std::vector<const AtenTensor*> tensors;
  for (std::size_t position = 0; position < inputs.size(); ++position) {
    if (const AtenTensor* tensor = TensorAt(position)) {
      tensors.push_back(tensor);
    }
    for (const AtenTensor& tensor : TensorsAt(position)) {
      if (tensor.is_defined) {
        tensors.push_back(&tensor);
      }
    }
  }
  return tensors;
}

std::int64_t Times(std::int64_t lhs, std::int64_t rhs) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t product = 0;
  return __builtin_mul_overflow(lhs, rhs, &product) ? kMost : std::min(product, kMost);
}

std::vector<std::size_t> MemoryOrder(const AtenTensor& tensor) {
  std::vector<std::size_t> order;
  for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim) {
    if (tensor.dims[dim] > 1) {
      order.push_back(dim);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    return tensor.Stride(lhs) > tensor.Stride(rhs);
  });
  return order;
}

bool IsDense(const AtenTensor& tensor) {
  const std::vector<std::size_t> order = MemoryOrder(tensor);
  std::int64_t packed = 1;
  return std::all_of(order.rbegin(), order.rend(), [&](std::size_t dim) {
    const bool fits = tensor.Stride(dim) == packed;
    packed = fits ? Times(packed, tensor.dims[dim]) : packed;
    return fits;
  });
}

bool IsRowMajor(const AtenTensor& tensor) {
  const std::vector<std::size_t> order = MemoryOrder(tensor);
  return IsDense(tensor) && std::is_sorted(order.begin(), order.end());
}

bool IsExpanded(const AtenTensor& tensor) {
  const std::vector<std::size_t> order = MemoryOrder(tensor);
  return !order.empty() && tensor.Stride(order.back()) == 0;
}

bool HaveSameLayout(const AtenTensor& lhs, const AtenTensor& rhs) {
  if (lhs.dims != rhs.dims) {
    return false;
  }
  for (std::size_t dim = 0; dim < lhs.dims.size(); ++dim) {
    if (lhs.dims[dim] > 1 && lhs.Stride(dim) != rhs.Stride(dim)) {
      return false;
    }
  }
  return true;
}

bool IsChannelsLast(const AtenTensor& images) {
  constexpr std::size_t kImageDims = 4;
  return images.dims.size() == kImageDims && images.dims[1] > 1 && images.Stride(1) == 1 &&
         images.Stride(3) >= images.dims[1];
}

std::int64_t ContiguousRun(const AtenTensor& tensor) {
  std::int64_t run = 1;
  for (std::size_t dim = tensor.dims.size(); dim-- > 0;) {
    if (tensor.dims[dim] > 1 && tensor.Stride(dim) != run) {
      return run;
    }
    run = Times(run, std::max<std::int64_t>(tensor.dims[dim], 1));
  }
  return run;
}

std::int64_t Product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
  end = std::min(end, dims.size());
  begin = std::min(begin, end);
  return AtenTensor{.dims = {dims.begin() + static_cast<std::ptrdiff_t>(begin),
                             dims.begin() + static_cast<std::ptrdiff_t>(end)}}
      .Elements();
}

Operator OverRows(OperatorKind kind, const AtenTensor& tensor, std::int64_t dim) {
  const std::size_t index = DimensionIndex(dim, tensor.dims.size());
  const std::int64_t outer = Product(tensor.dims, 0, index);
  return Operator(kind, *tensor.type)
      .Set(kCols, tensor.dims[index])
      .Set(kRows, Times(outer, Product(tensor.dims, index + 1, tensor.dims.size())));
}

std::size_t DimensionIndex(std::int64_t dim, std::size_t num_dims) {
  const std::int64_t index = dim < 0 ? dim + static_cast<std::int64_t>(num_dims) : dim;
  return index < 0 || index >= static_cast<std::int64_t>(num_dims)
             ? 0
             : static_cast<std::size_t>(index);
}

}  // namespace orrery::kernel
