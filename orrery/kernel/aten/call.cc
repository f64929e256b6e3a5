#include "orrery/kernel/aten/call.h"

#include <algorithm>

#include "orrery/kernel/aten/layout.h"

namespace orrery::kernel {
namespace {

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

}  // namespace orrery::kernel
