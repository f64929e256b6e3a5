#pragma once

#include <cstddef>
#include <cstdint>

#include <rapidcheck.h>

#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// Generates a value of a field that ParseOperator accepts, up to 100,000.
inline std::int64_t AnyValueOf(const Field& field) {
  const std::int64_t least = field.type == FieldType::kSize    ? 1
                             : field.type == FieldType::kShift ? -5
                                                               : 0;
  const std::int64_t limit = field.type == FieldType::kWord
                                 ? static_cast<std::int64_t>(field.words.size())
                             : field.type == FieldType::kFlag ? 2
                                                              : 100'000;
  return *rc::gen::inRange(least, limit);
}

/// Generates an operator of a kind, for property tests.
inline Operator AnyOperatorOf(OperatorKind kind) {
  Operator op(kind, OperatorType(*rc::gen::inRange<std::size_t>(0, kNumOperatorTypes)));
  op.set_warm(*rc::gen::arbitrary<bool>());
  for (const Field& field : SchemaOf(kind).fields) {
    op.Set(field.key, AnyValueOf(field));
  }
  return op;
}

/// Generates an operator of any kind.
inline Operator AnyOperator() {
  return AnyOperatorOf(
      static_cast<OperatorKind>(*rc::gen::inRange<std::size_t>(0, kNumOperatorKinds)));
}

}  // namespace orrery::kernel
