#include "orrery/workload/model/listed_layers.h"

#include <optional>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

using kernel::Key;
using kernel::OperatorKind;

Key GrowingSizeOfProduct(const kernel::Operator& op) {
  return op.Word(Key::kLayout) == "tn" ? Key::kK : Key::kM;
}

// The first of these that a kind has is what grows with the batch.
constexpr Key kGrowing[] = {Key::kB,     Key::kBags, Key::kLookups, Key::kTokens,
                            Key::kOuter, Key::kRows, Key::kN};

std::optional<Key> GrowingSize(const kernel::Operator& op) {
  if (op.kind() == OperatorKind::kGemm) {
    return GrowingSizeOfProduct(op);
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

}  // namespace

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
