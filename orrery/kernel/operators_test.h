#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "orrery/kernel/operator.h"
#include "orrery/learn/data_set.h"

/// Random operators as in frameworks, the same on every machine.
namespace orrery::kernel::test_operators {

/// log2 of the largest size of a parameter: beyond the measured range, within memory.
inline double LargestLog2(const Operator& op, Key key) {
  switch (key) {
    case Key::kKernelHeight:
    case Key::kKernelWidth:
    case Key::kScale:
      return 3;
    case Key::kHeads:
    case Key::kKvHeads:
    case Key::kParts:
    case Key::kPool:
    case Key::kG:
      return 7;
    case Key::kB:
    case Key::kHeadSize:
    case Key::kHeight:
    case Key::kWidth:
    case Key::kExperts:
      return 9;
    case Key::kC:
    case Key::kOutChannels:
    case Key::kTensors:
      return 12;
    case Key::kRun:
      return 14;
    case Key::kRows:
    case Key::kLookups:
      return 22;
    case Key::kN:
      return SchemaOf(op.kind()).IndexOf(Key::kM) ? 16 : 31;
    case Key::kBytes:
      return 34;
    default:
      return 16;
  }
}

/// A size from 1 to 2^largest_log2, as a logarithm even: any, a multiple of 8, or a power of two.
inline std::int64_t RandomSize(learn::Random& random, double largest_log2) {
  const double log2 = random.Uniform() * largest_log2;
  const auto any = static_cast<std::int64_t>(std::exp2(log2));
  switch (random.Below(3)) {
    case 0:
      return any;
    case 1:
      return any < 8 ? any : any / 8 * 8;
    default:
      return std::int64_t{1} << static_cast<int>(log2);
  }
}

inline std::int64_t RandomValue(learn::Random& random, const Operator& op, const Field& field) {
  switch (field.type) {
    case FieldType::kSize:
      return RandomSize(random, LargestLog2(op, field.key));
    case FieldType::kCount:
      return field.fallback.value_or(1) + static_cast<std::int64_t>(random.Below(2));
    case FieldType::kShift:
      return static_cast<std::int64_t>(random.Below(3)) - 1;
    case FieldType::kFlag:
      return static_cast<std::int64_t>(random.Below(2));
    case FieldType::kWord:
      return static_cast<std::int64_t>(random.Below(field.words.size()));
  }
  return 1;
}

inline Operator RandomOperator(learn::Random& random, OperatorKind kind) {
  constexpr auto kTypes =
      std::to_array<DataType>({DataType::kBf16, DataType::kBf16, DataType::kFp16, DataType::kFp32,
                               DataType::kTf32, DataType::kFp8});
  Operator op(kind, kTypes[random.Below(kTypes.size())]);
  op.set_warm(random.Below(4) == 0);
  for (const Field& field : SchemaOf(kind).fields) {
    op.Set(field.key, RandomValue(random, op, field));
  }
  return op;
}

inline Operator RandomOperator(learn::Random& random) {
  return RandomOperator(random, static_cast<OperatorKind>(random.Below(kNumOperatorKinds)));
}

/// Kinds with about the frequencies of training steps.
inline OperatorKind RandomKindOfTraining(learn::Random& random) {
  using enum OperatorKind;
  constexpr auto kKinds = std::to_array<OperatorKind>(
      {kElementwise, kElementwise, kElementwise, kElementwise, kElementwise, kElementwise,
       kGemm,        kGemm,        kGemm,        kGemm,        kCopy,        kCopy,
       kReduce,      kReduce,      kLayerNorm,   kRmsNorm,     kAttention,   kConv,
       kBatchNorm,   kDropout,     kEmbedding,   kSoftmax,     kOptimizer,   kBatchedGemm});
  return kKinds[random.Below(kKinds.size())];
}

}  // namespace orrery::kernel::test_operators
