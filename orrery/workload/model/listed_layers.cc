#include "orrery/workload/model/listed_layers.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/kernel/work.h"

namespace orrery::workload {
namespace {

using kernel::Key;
using kernel::OperatorKind;

Key GrowingSizeOfGemm(const kernel::Operator& op) {
  return op.Word(Key::kLayout) == "tn" ? Key::kK : Key::kM;
}

// The first of these that a kind has is what grows with the batch.
constexpr Key kGrowing[] = {Key::kB,     Key::kBags, Key::kLookups, Key::kTokens,
                            Key::kOuter, Key::kRows, Key::kN};

std::optional<Key> GrowingSize(const kernel::Operator& op) {
  if (op.kind() == OperatorKind::kGemm) {
    return GrowingSizeOfGemm(op);
  }
  if (op.kind() == OperatorKind::kGroupedGemm) {
    return Key::kM;
  }
  for (const Key key : kGrowing) {
    if (kernel::SchemaOf(op.kind()).IndexOf(key)) {
      return key;
    }
  }
  return std::nullopt;
}

// Products of a layer with weights of n × k: the input's gradient, then the weights'.
std::vector<kernel::Operator> BackwardOfGemm(const kernel::Operator& op) {
  const auto product = [&op](std::int64_t m, std::int64_t n, std::int64_t k,
                             std::string_view layout) {
    return kernel::Operator(OperatorKind::kGemm, op.type())
        .Set(Key::kM, m)
        .Set(Key::kN, n)
        .Set(Key::kK, k)
        .Set(Key::kLayout, layout);
  };
  return {product(op.Get(Key::kM), op.Get(Key::kK), op.Get(Key::kN), "nn"),
          product(op.Get(Key::kN), op.Get(Key::kK), op.Get(Key::kM), "tn")};
}

std::vector<kernel::Operator> BackwardOf(const kernel::Operator& op) {
  if (op.kind() == OperatorKind::kGemm) {
    return BackwardOfGemm(op);
  }
  kernel::Operator backward = op;
  if (kernel::SchemaOf(op.kind()).IndexOf(Key::kPass)) {
    backward.Set(Key::kPass, "bwd");
  }
  return {backward};
}

std::vector<std::int64_t> ParametersOfKind(const kernel::Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kGemm:
      return {op.Get(Key::kN) * op.Get(Key::kK)};
    case OperatorKind::kConv:
      return {op.Get(Key::kOutChannels) * op.Get(Key::kC) / op.Get(Key::kGroups) *
              op.Get(Key::kKernelHeight) * op.Get(Key::kKernelWidth)};
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
      return {op.Get(Key::kRows) * op.Get(Key::kDim)};
    case OperatorKind::kLayerNorm:
      return {op.Get(Key::kCols), op.Get(Key::kCols)};
    case OperatorKind::kRmsNorm:
      return {op.Get(Key::kCols)};
    case OperatorKind::kBatchNorm:
      return {op.Get(Key::kC), op.Get(Key::kC)};
    default:
      return {};
  }
}

// Every operator writes its result once, and nothing else.
std::int64_t ResultElements(const kernel::Operator& op) {
  return std::llround(kernel::WorkOf(op).write_bytes / kernel::ElementBytes(op.type()));
}

}  // namespace

ListedLayer LayerOf(const kernel::Operator& op) {
  return {.name = std::string(kernel::SchemaOf(op.kind()).name),
          .forward = {op},
          .backward = BackwardOf(op),
          .parameters = ParametersOfKind(op),
          .output_elements = ResultElements(op)};
}

Result<kernel::Operator> ForSamples(const kernel::Operator& op, std::int64_t samples) {
  const std::optional<Key> key = GrowingSize(op);
  if (!key) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("'{}' has no size that grows with the batch", kernel::Text(op)));
  }
  kernel::Operator grown = op;
  grown.Set(*key, op.Get(*key) * samples);
  return grown;
}

}  // namespace orrery::workload
