#include "orrery/analyze/operator_inputs.h"

#include <algorithm>
#include <utility>

#include "orrery/trace/data_types.h"
#include "orrery/trace/shape_text.h"

namespace orrery::analyze {
namespace {

using trace::ArrayItems;
using trace::Unquoted;

// The numbers of "[4, 8]"; nothing when an item is no size.
std::optional<std::vector<std::int64_t>> ParseSizes(std::string_view text) {
  auto sizes = trace::IntegerItems(text);
  const auto is_negative = [](std::int64_t size) { return size < 0; };
  return sizes && std::ranges::none_of(*sizes, is_negative) ? std::move(sizes) : std::nullopt;
}

// Shapes of scalars and of what was left out are empty too; only the type tells a tensor.
std::optional<TensorInput> ParseTensor(std::string_view shape, std::string_view type) {
  auto dims = ParseSizes(shape);
  const trace::DataType data_type = trace::ParseDataType(type);
  const bool is_tensor = dims && (!dims->empty() || data_type != trace::DataType::kUnknown);
  return is_tensor ? std::optional(TensorInput{*std::move(dims), data_type}) : std::nullopt;
}

}  // namespace

double TensorInput::Elements() const {
  double elements = 1;
  for (const std::int64_t dim : dims) {
    elements *= static_cast<double>(dim);
  }
  return elements;
}

std::optional<double> TensorInput::Bytes() const {
  const std::int64_t size = trace::ElementBytes(type);
  return size < 0 ? std::nullopt : std::optional(Elements() * static_cast<double>(size));
}

OperatorInputs::OperatorInputs(const trace::Trace& trace, RowId host_op) {
  const trace::HostOps& operators = trace.host_ops;
  const auto shapes = ArrayItems(trace.Text(operators.input_dims[host_op]));
  const auto types = ArrayItems(trace.Text(operators.input_types[host_op]));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    tensors_.push_back(ParseTensor(shapes[i], i < types.size() ? Unquoted(types[i]) : ""));
  }
  values_ = ArrayItems(trace.Text(operators.concrete_inputs[host_op]));
}

const TensorInput* OperatorInputs::TensorAt(std::size_t position) const {
  return position < tensors_.size() && tensors_[position] ? &*tensors_[position] : nullptr;
}

const TensorInput* OperatorInputs::TensorAt(std::size_t position, std::size_t num_dims) const {
  const TensorInput* const tensor = TensorAt(position);
  return tensor != nullptr && tensor->dims.size() == num_dims ? tensor : nullptr;
}

std::vector<const TensorInput*> OperatorInputs::Tensors() const {
  std::vector<const TensorInput*> tensors;
  for (const auto& tensor : tensors_) {
    if (tensor) {
      tensors.push_back(&*tensor);
    }
  }
  return tensors;
}

std::vector<std::int64_t> OperatorInputs::IntegersAt(std::size_t position) const {
  if (position >= values_.size()) {
    return {};
  }
  return ParseSizes(Unquoted(values_[position])).value_or(std::vector<std::int64_t>{});
}

bool OperatorInputs::IsTrueAt(std::size_t position) const {
  return position < values_.size() && Unquoted(values_[position]) == "True";
}

}  // namespace orrery::analyze
