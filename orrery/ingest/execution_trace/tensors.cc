#include "orrery/ingest/execution_trace/tensors.h"

#include "orrery/trace/data_types.h"

namespace orrery::ingest::execution_trace {
namespace {

// Position of the members that are used.
constexpr std::size_t kElements = 3;
constexpr std::size_t kElementBytes = 4;
constexpr std::size_t kDevice = 5;
constexpr std::size_t kTensorMembers = 6;

bool IsTensor(const JsonElement& value) {
  return ArraySize(value) == kTensorMembers && Integer(ElementAt(value, 0)) &&
         Integer(ElementAt(value, kElements)) && Integer(ElementAt(value, kElementBytes)) &&
         Text(ElementAt(value, kDevice));
}

// Adds to a sum that is -1 before the first summand and after an overflow.
void AddTo(std::int64_t& sum, std::int64_t summand) {
  const bool is_first = sum < 0;
  if (summand < 0 || __builtin_add_overflow(is_first ? 0 : sum, summand, &sum)) {
    sum = -1;
  }
}

void AddTensor(const JsonElement& tensor, TensorSize& size) {
  const std::int64_t elements = *Integer(ElementAt(tensor, kElements));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, *Integer(ElementAt(tensor, kElementBytes)), &bytes)) {
    bytes = -1;
  }
  AddTo(size.elements, elements);
  AddTo(size.bytes, bytes);
}

void AddNested(const JsonElement& value, TensorSize& size) {
  if (IsTensor(value)) {
    return AddTensor(value, size);
  }
  simdjson::dom::array elements;
  if (!value.get(elements)) {
    for (const JsonElement element : elements) {
      AddNested(element, size);
    }
  }
}

}  // namespace

TensorSize SumTensors(const std::optional<JsonElement>& value) {
  TensorSize size;
  if (value) {
    AddNested(*value, size);
  }
  return size;
}

trace::DataType TensorElementType(std::string_view type) {
  constexpr std::string_view kOpening = "Tensor(";
  const std::size_t opening = type.find(kOpening);
  if (opening == std::string_view::npos) {
    return trace::DataType::kUnknown;
  }
  type.remove_prefix(opening + kOpening.size());
  return trace::ParseDataType(type.substr(0, type.find(')')));
}

}  // namespace orrery::ingest::execution_trace
