#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/kernel/data_type.h"

namespace orrery::kernel {

/// The kinds of operators, independent of their implementation (docs/formats/operators.md defines
/// each).
enum class OperatorKind : std::uint8_t {
  kGemm,
  kBatchedGemm,
  kGroupedGemm,
  kAttention,
  kConv,
  kConv1d,
  kEmbedding,
  kEmbeddingBag,
  kLayerNorm,
  kRmsNorm,
  kBatchNorm,
  kSoftmax,
  kNll,
  kCrossEntropy,
  kDropout,
  kElementwise,
  kCopy,
  kFill,
  kArange,
  kReduce,
  kConcat,
  kTranspose,
  kTril,
  kIndex,
  kScatter,
  kSort,
  kCumsum,
  kTopK,
  kMemcpy,
  kOptimizer,
  kGradientNorm,
  kForeach,
  kRope,
  kMoePermute,
  kMoe,
  kMaxPool,
  kAvgPool,
  kUpsample,
  kQuantize,
  kRnn,
  kGroupNorm,
  kLoss,
  kTriton,
};

inline constexpr std::size_t kNumOperatorKinds =
    static_cast<std::size_t>(OperatorKind::kTriton) + 1;

/// The parameters of all kinds.
enum class Key : std::uint8_t {
  kB,
  kM,
  kN,
  kK,
  kG,
  kSkew,
  kLayout,
  kBias,
  kHeads,
  kKvHeads,
  kQueryLength,
  kKeyLength,
  kHeadSize,
  kCausal,
  kWindow,
  kDropout,
  kBackend,
  kKvFp8,
  kPass,
  kC,
  kOutChannels,
  kHeight,
  kWidth,
  kKernelHeight,
  kKernelWidth,
  kStride,
  kPad,
  kDilation,
  kGroups,
  kChannelsLast,
  kRows,
  kDim,
  kLookups,
  kZipf,
  kBags,
  kPool,
  kCols,
  kPixels,
  kLog,
  kFunction,
  kReadBytes,
  kWriteBytes,
  kMode,
  kTo,
  kOuter,
  kReduced,
  kInner,
  kParts,
  kRun,
  kDiagonal,
  kBytes,
  kDirection,
  kPinned,
  kTensors,
  kChunks,
  kAligned,
  kLists,
  kMaster,
  kSequence,
  kTokens,
  kHidden,
  kExperts,
  kIntermediate,
  kScale,
  kPut,
  kLayers,
  kInput,
  kBidirectional,
  kReduction,
};

/// The type of a parameter, which decides its parsing and its scaling.
enum class FieldType : std::uint8_t {
  kSize,   // work never decreases with it
  kCount,  // another integer: a stride, a number of groups
  kShift,  // may be negative: which diagonal
  kFlag,   // 0 or 1
  kWord,   // one of `words`; the value is its index
};

struct Field {
  Key key;
  std::string_view name;
  FieldType type = FieldType::kSize;
  std::optional<std::int64_t> fallback = {};  // required if absent
  std::span<const std::string_view> words = {};
};

inline constexpr std::size_t kMaxFields = 14;

inline constexpr std::size_t kNumKeys = static_cast<std::size_t>(Key::kReduction) + 1;
inline constexpr std::uint8_t kNoField = 0xFF;

/// The index of each parameter in each kind, or kNoField. Every formula finds its parameters here.
extern const std::array<std::array<std::uint8_t, kNumKeys>, kNumOperatorKinds> kFieldOfKey;

/// The parameters of a kind, in the order of the canonical text.
struct Schema {
  OperatorKind kind;
  std::string_view name;
  std::span<const Field> fields;

  /// Index of a field; nothing if the kind does not have it.
  [[nodiscard]] std::optional<std::size_t> IndexOf(Key key) const {
    const std::uint8_t field =
        kFieldOfKey[static_cast<std::size_t>(kind)][static_cast<std::size_t>(key)];
    return field == kNoField ? std::nullopt : std::optional<std::size_t>(field);
  }
};

[[nodiscard]] const Schema& SchemaOf(OperatorKind kind);
[[nodiscard]] std::optional<OperatorKind> FindOperatorKind(std::string_view name);

/// One operator: a kind, its parameters in the order of its schema, and the type of its elements.
/// Every kind has the flag `warm`: its operands are in the cache.
class Operator {
 public:
  Operator() = default;
  /// All parameters at their defaults; required ones at 1.
  Operator(OperatorKind kind, DataType type);

  [[nodiscard]] OperatorKind kind() const { return kind_; }

  [[nodiscard]] DataType type() const { return type_; }

  [[nodiscard]] bool is_warm() const { return is_warm_; }

  void set_warm(bool is_warm) { is_warm_ = is_warm; }

  /// The kind must have the parameter.
  [[nodiscard]] std::int64_t Get(Key key) const;

  [[nodiscard]] double Number(Key key) const { return static_cast<double>(Get(key)); }

  /// Zero if the kind does not have the parameter.
  [[nodiscard]] std::int64_t GetOr(Key key, std::int64_t otherwise) const;

  /// Returns itself, so that operators can be written in one expression.
  Operator& Set(Key key, std::int64_t value);
  /// Sets a word by its name, which must be one of the field's.
  Operator& Set(Key key, std::string_view word);
  [[nodiscard]] Operator WithType(DataType type) const;
  [[nodiscard]] std::string_view Word(Key key) const;

  [[nodiscard]] std::span<const std::int64_t> values() const { return values_; }

  auto operator<=>(const Operator&) const = default;

 private:
  OperatorKind kind_ = OperatorKind::kGemm;
  DataType type_ = DataType::kBf16;
  bool is_warm_ = false;
  std::array<std::int64_t, kMaxFields> values_ = {};
};

/// Reads "gemm m=4096 n=4096 k=4096 bf16". Unknown words, missing or repeated parameters and sizes
/// below one are errors that name the word and the allowed ones.
[[nodiscard]] Result<Operator> ParseOperator(std::string_view text);

/// Returns the canonical text, which reads back as the same operator.
[[nodiscard]] std::string Text(const Operator& op);

struct OperatorHash {
  std::size_t operator()(const Operator& op) const;
};

}  // namespace orrery::kernel
