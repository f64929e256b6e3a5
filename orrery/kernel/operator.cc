#include "orrery/kernel/operator.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/kernel/data_type.h"

namespace orrery::kernel {
namespace {

constexpr std::int64_t kLargestValue = std::int64_t{1} << 50;

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t,");
    if (begin == std::string_view::npos) {
      return words;
    }
    const std::size_t end = std::min(text.find_first_of(" \t,", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

Result<std::int64_t> ReadWord(const Field& field, std::string_view text) {
  const auto found = std::find(field.words.begin(), field.words.end(), text);
  if (found == field.words.end()) {
    return Invalid("'{}' is not a valid {}; expected one of {}", text, field.name,
                   fmt::join(field.words, ", "));
  }
  return found - field.words.begin();
}

Result<std::int64_t> ReadNumber(const Field& field, std::string_view text) {
  const auto value = ParseWhole<std::int64_t>(text);
  const std::int64_t least = field.type == FieldType::kSize    ? 1
                             : field.type == FieldType::kShift ? -kLargestValue
                                                               : 0;
  const std::int64_t largest = field.type == FieldType::kFlag ? 1 : kLargestValue;
  if (!value || *value < least || *value > largest) {
    return Invalid("{}={} is not an integer from {} to {}", field.name, text, least, largest);
  }
  return *value;
}

std::size_t IndexIn(const Schema& schema, Key key) {
  const std::optional<std::size_t> index = schema.IndexOf(key);
  ORRERY_CHECK(index.has_value(), schema.name);
  return *index;
}

struct PartialOperator {
  Operator op;
  std::optional<DataType> type = {};
  std::bitset<kMaxFields> seen = {};
};

Status AddType(std::string_view word, PartialOperator& partial) {
  const std::optional<DataType> type = FindDataType(word);
  if (!type) {
    return Invalid("'{}' is neither key=value nor a data type such as bf16", word);
  }
  if (partial.type) {
    return Invalid("a second data type, '{}'", word);
  }
  partial.type = type;
  return {};
}

Status AddParameter(std::string_view name, std::string_view text, PartialOperator& partial) {
  if (name == "warm") {
    partial.op.set_warm(text != "0");
    return {};
  }
  const Schema& schema = SchemaOf(partial.op.kind());
  const auto field = std::ranges::find(schema.fields, name, &Field::name);
  if (field == schema.fields.end()) {
    return Invalid("{} has no '{}'; it has {}", schema.name, name,
                   fmt::join(schema.fields | std::views::transform(&Field::name), ", "));
  }
  const auto index = static_cast<std::size_t>(field - schema.fields.begin());
  if (partial.seen[index]) {
    return Invalid("{}= is given twice", name);
  }
  ORRERY_TRY(const std::int64_t value,
             field->type == FieldType::kWord ? ReadWord(*field, text) : ReadNumber(*field, text));
  partial.op.Set(field->key, value);
  partial.seen.set(index);
  return {};
}

Result<Operator> Finish(const PartialOperator& partial) {
  if (!partial.type) {
    return Invalid("the data type is missing, such as bf16 or fp32");
  }
  const Schema& schema = SchemaOf(partial.op.kind());
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (!partial.seen[i] && !schema.fields[i].fallback) {
      return Invalid("{} needs {}=", schema.name, schema.fields[i].name);
    }
  }
  return partial.op.WithType(*partial.type);
}

using enum FieldType;

constexpr std::string_view kLayoutWords[] = {"nn", "nt", "tn", "tt"};
constexpr std::string_view kPassWords[] = {"fwd", "bwd", "dgrad", "wgrad"};
constexpr std::string_view kBackendWords[] = {"auto",      "cudnn", "flash",
                                              "efficient", "math",  "flex"};
constexpr std::string_view kModeWords[] = {"contiguous", "broadcast", "strided", "transposed"};
constexpr std::string_view kTypeWords[] = {"same", "bf16", "fp16",  "fp32",  "tf32", "fp8",
                                           "fp64", "int8", "int32", "int64", "bool"};
constexpr std::string_view kReduceWords[] = {"sum", "mean", "max", "norm"};
constexpr std::string_view kDirectionWords[] = {"h2d", "d2h", "d2d"};
constexpr std::string_view kOptimizerWords[] = {"adamw", "adam", "sgd", "adamw_foreach"};
constexpr std::string_view kRnnWords[] = {"lstm", "gru", "tanh", "relu"};
constexpr std::string_view kLossWords[] = {"mse", "l1",         "smooth_l1", "huber",
                                           "bce", "bce_logits", "kl"};
constexpr std::string_view kReductionWords[] = {"mean", "sum", "none"};
constexpr std::string_view kTritonWords[] = {"pointwise", "reduction", "persistent"};
constexpr std::string_view kForeachWords[] = {"add", "mul", "norm"};
constexpr std::string_view kElementwiseWords[] = {"add",           "sub",
                                                  "mul",           "div",
                                                  "pow",           "sqrt",
                                                  "rsqrt",         "exp",
                                                  "log",           "neg",
                                                  "abs",           "relu",
                                                  "relu_backward", "clamp",
                                                  "gelu",          "gelu_backward",
                                                  "gelu_tanh",     "gelu_tanh_backward",
                                                  "tanh",          "tanh_backward",
                                                  "sigmoid",       "sigmoid_backward",
                                                  "silu",          "silu_backward",
                                                  "sin",           "cos",
                                                  "where",         "compare",
                                                  "masked_fill",   "addcmul",
                                                  "addcdiv",       "lerp",
                                                  "reciprocal",    "other"};

constexpr Field Size(Key key, std::string_view name) {
  return {key, name, kSize};
}

constexpr Field Count(Key key, std::string_view name, std::int64_t fallback) {
  return {key, name, kCount, fallback};
}

constexpr Field Flag(Key key, std::string_view name) {
  return {key, name, kFlag, 0};
}

constexpr Field Word(Key key, std::string_view name, std::span<const std::string_view> words) {
  return {key, name, kWord, 0, words};
}

constexpr Field kB = Size(Key::kB, "b");
constexpr Field kM = Size(Key::kM, "m");
constexpr Field kN = Size(Key::kN, "n");
constexpr Field kK = Size(Key::kK, "k");
constexpr Field kC = Size(Key::kC, "c");
constexpr Field kHeight = Size(Key::kHeight, "h");
constexpr Field kWidth = Size(Key::kWidth, "w");
constexpr Field kRows = Size(Key::kRows, "rows");
constexpr Field kCols = Size(Key::kCols, "cols");
constexpr Field kDim = Size(Key::kDim, "dim");
constexpr Field kLookups = Size(Key::kLookups, "lookups");
constexpr Field kTensors = Size(Key::kTensors, "tensors");
constexpr Field kChunks = Count(Key::kChunks, "chunks", 0);
constexpr Field kAligned = Count(Key::kAligned, "aligned", 100);
constexpr Field kHidden = Size(Key::kHidden, "hidden");
constexpr Field kTokens = Size(Key::kTokens, "tokens");
constexpr Field kExperts = Size(Key::kExperts, "experts");
constexpr Field kLayout = Word(Key::kLayout, "layout", kLayoutWords);
constexpr Field kPass = Word(Key::kPass, "pass", kPassWords);
constexpr Field kMode = Word(Key::kMode, "mode", kModeWords);
constexpr Field kChannelsLast = Flag(Key::kChannelsLast, "nhwc");
constexpr Field kStride = Count(Key::kStride, "stride", 1);
constexpr Field kPad = Count(Key::kPad, "pad", 0);
constexpr Field kDilation = Count(Key::kDilation, "dilation", 1);
constexpr Field kGroups = Count(Key::kGroups, "groups", 1);
constexpr Field kZipf = Count(Key::kZipf, "zipf", 0);
constexpr Field kSkew = Count(Key::kSkew, "skew", 0);

constexpr auto kGemm = std::to_array<Field>({kM, kN, kK, kLayout, Flag(Key::kBias, "bias")});
constexpr auto kBatchedGemm = std::to_array<Field>({kB, kM, kN, kK, kLayout});
constexpr auto kGroupedGemm = std::to_array<Field>({Size(Key::kG, "g"), kM, kN, kK, kSkew});
constexpr auto kAttention = std::to_array<Field>(
    {kB, Size(Key::kHeads, "h"), Size(Key::kKvHeads, "kv"), Size(Key::kQueryLength, "sq"),
     Size(Key::kKeyLength, "sk"), Size(Key::kHeadSize, "d"), Flag(Key::kCausal, "causal"),
     Count(Key::kWindow, "window", 0), Flag(Key::kDropout, "dropout"),
     Word(Key::kBackend, "backend", kBackendWords), Flag(Key::kKvFp8, "kv8"), kPass});
constexpr auto kConv = std::to_array<Field>(
    {kB, kC, Size(Key::kOutChannels, "oc"), kHeight, kWidth, Size(Key::kKernelHeight, "kh"),
     Size(Key::kKernelWidth, "kw"), kStride, kPad, kDilation, kGroups, kChannelsLast, kPass});
constexpr auto kConv1d =
    std::to_array<Field>({kB, kC, Size(Key::kOutChannels, "oc"), kWidth,
                          Size(Key::kKernelWidth, "kw"), kStride, kPad, kDilation, kGroups, kPass});
constexpr auto kEmbedding = std::to_array<Field>({kRows, kDim, kLookups, kZipf, kPass});
constexpr auto kEmbeddingBag = std::to_array<Field>(
    {kRows, kDim, Size(Key::kBags, "bags"), Size(Key::kPool, "pool"), kZipf, kPass});
constexpr auto kRowsCols = std::to_array<Field>({kRows, kCols, kPass});
constexpr auto kBatchNorm =
    std::to_array<Field>({kB, kC, Size(Key::kPixels, "hw"), kChannelsLast, kPass});
constexpr auto kSoftmax = std::to_array<Field>({kRows, kCols, Flag(Key::kLog, "log"), kPass});
constexpr auto kDropout = std::to_array<Field>({kN, kPass});
constexpr auto kElementwise = std::to_array<Field>({Word(Key::kFunction, "fn", kElementwiseWords),
                                                    kN, Count(Key::kReadBytes, "rb", 4),
                                                    Count(Key::kWriteBytes, "wb", 2), kMode});
constexpr auto kCopy = std::to_array<Field>({kN, Word(Key::kTo, "to", kTypeWords), kMode});
constexpr auto kOnlyN = std::to_array<Field>({kN});
constexpr auto kReduce =
    std::to_array<Field>({Word(Key::kFunction, "fn", kReduceWords), Size(Key::kOuter, "outer"),
                          Size(Key::kReduced, "r"), Size(Key::kInner, "inner")});
constexpr auto kConcat =
    std::to_array<Field>({kN, Size(Key::kParts, "parts"), Size(Key::kRun, "run"), kMode});
constexpr auto kTranspose = std::to_array<Field>({kB, kM, kN});
constexpr auto kTril =
    std::to_array<Field>({kB, kM, kN, Field{Key::kDiagonal, "diag", kShift, 0}, kPass});
constexpr auto kIndex =
    std::to_array<Field>({kRows, kDim, kLookups, Flag(Key::kPut, "put"), kPass});
constexpr auto kScatter = std::to_array<Field>({kN, kLookups, Flag(Key::kPut, "put")});
constexpr auto kCumsum = std::to_array<Field>({kRows, kCols});
constexpr auto kTopK = std::to_array<Field>({kRows, kCols, kK});
constexpr auto kMemcpy =
    std::to_array<Field>({Size(Key::kBytes, "bytes"), Word(Key::kDirection, "dir", kDirectionWords),
                          Flag(Key::kPinned, "pinned")});
constexpr auto kOptimizer =
    std::to_array<Field>({Word(Key::kFunction, "fn", kOptimizerWords), kN, kTensors,
                          Flag(Key::kMaster, "master"), kChunks, kAligned});
constexpr auto kGradientNorm = std::to_array<Field>({kN, kTensors, kChunks, kAligned});
constexpr auto kForeach =
    std::to_array<Field>({Word(Key::kFunction, "fn", kForeachWords), kN, kTensors, kChunks,
                          kAligned, Count(Key::kLists, "lists", 1)});
constexpr auto kRope = std::to_array<Field>(
    {kB, Size(Key::kSequence, "s"), Size(Key::kHeads, "h"), Size(Key::kHeadSize, "d"), kPass});
constexpr auto kMoePermute = std::to_array<Field>({kTokens, kK, kHidden, kExperts, kSkew, kPass});
constexpr auto kMoe = std::to_array<Field>({kTokens, kHidden, Size(Key::kIntermediate, "inter"), kK,
                                            kExperts, Count(Key::kGroups, "ep", 1), kSkew});
constexpr auto kPool =
    std::to_array<Field>({kB, kC, kHeight, kWidth, Size(Key::kKernelHeight, "kernel"), kStride,
                          kPad, kChannelsLast, kPass});
constexpr auto kUpsample = std::to_array<Field>(
    {kB, kC, kHeight, kWidth, Size(Key::kScale, "scale"), kChannelsLast, kPass});
constexpr auto kQuantize = std::to_array<Field>({kRows, kCols});
constexpr auto kRnn =
    std::to_array<Field>({Word(Key::kFunction, "fn", kRnnWords), Size(Key::kLayers, "layers"), kB,
                          Size(Key::kSequence, "s"), Size(Key::kInput, "input"), kHidden,
                          Flag(Key::kBidirectional, "bi"), kPass});
constexpr auto kGroupNorm =
    std::to_array<Field>({kB, kC, Size(Key::kPixels, "hw"), kGroups, kPass});
constexpr auto kLoss =
    std::to_array<Field>({Word(Key::kFunction, "fn", kLossWords), kN,
                          Word(Key::kReduction, "reduction", kReductionWords), kPass});
constexpr auto kTriton = std::to_array<Field>(
    {Word(Key::kFunction, "fn", kTritonWords), kRows, kCols, Size(Key::kBytes, "bytes"), kTensors});

constexpr auto kSchemas = std::to_array<Schema>({
    {OperatorKind::kGemm, "gemm", kGemm},
    {OperatorKind::kBatchedGemm, "bgemm", kBatchedGemm},
    {OperatorKind::kGroupedGemm, "groupedgemm", kGroupedGemm},
    {OperatorKind::kAttention, "attention", kAttention},
    {OperatorKind::kConv, "conv", kConv},
    {OperatorKind::kConv1d, "conv1d", kConv1d},
    {OperatorKind::kEmbedding, "embedding", kEmbedding},
    {OperatorKind::kEmbeddingBag, "embeddingbag", kEmbeddingBag},
    {OperatorKind::kLayerNorm, "layernorm", kRowsCols},
    {OperatorKind::kRmsNorm, "rmsnorm", kRowsCols},
    {OperatorKind::kBatchNorm, "batchnorm", kBatchNorm},
    {OperatorKind::kSoftmax, "softmax", kSoftmax},
    {OperatorKind::kNll, "nll", kRowsCols},
    {OperatorKind::kCrossEntropy, "crossentropy", kRowsCols},
    {OperatorKind::kDropout, "dropout", kDropout},
    {OperatorKind::kElementwise, "elementwise", kElementwise},
    {OperatorKind::kCopy, "copy", kCopy},
    {OperatorKind::kFill, "fill", kOnlyN},
    {OperatorKind::kArange, "arange", kOnlyN},
    {OperatorKind::kReduce, "reduce", kReduce},
    {OperatorKind::kConcat, "cat", kConcat},
    {OperatorKind::kTranspose, "transpose", kTranspose},
    {OperatorKind::kTril, "tril", kTril},
    {OperatorKind::kIndex, "index", kIndex},
    {OperatorKind::kScatter, "scatter", kScatter},
    {OperatorKind::kSort, "sort", kOnlyN},
    {OperatorKind::kCumsum, "cumsum", kCumsum},
    {OperatorKind::kTopK, "topk", kTopK},
    {OperatorKind::kMemcpy, "memcpy", kMemcpy},
    {OperatorKind::kOptimizer, "optimizer", kOptimizer},
    {OperatorKind::kGradientNorm, "gradnorm", kGradientNorm},
    {OperatorKind::kForeach, "foreach", kForeach},
    {OperatorKind::kRope, "rope", kRope},
    {OperatorKind::kMoePermute, "moepermute", kMoePermute},
    {OperatorKind::kMoe, "moe", kMoe},
    {OperatorKind::kMaxPool, "maxpool", kPool},
    {OperatorKind::kAvgPool, "avgpool", kPool},
    {OperatorKind::kUpsample, "upsample", kUpsample},
    {OperatorKind::kQuantize, "quantize", kQuantize},
    {OperatorKind::kRnn, "rnn", kRnn},
    {OperatorKind::kGroupNorm, "groupnorm", kGroupNorm},
    {OperatorKind::kLoss, "loss", kLoss},
    {OperatorKind::kTriton, "triton", kTriton},
});
static_assert(kSchemas.size() == kNumOperatorKinds);

using FieldOfKey = std::array<std::uint8_t, kNumKeys>;

constexpr std::array<FieldOfKey, kNumOperatorKinds> FieldsOfKeys() {
  std::array<FieldOfKey, kNumOperatorKinds> field_of_key = {};
  for (std::size_t kind = 0; kind < kNumOperatorKinds; ++kind) {
    field_of_key[kind].fill(kNoField);
    for (std::size_t i = 0; i < kSchemas[kind].fields.size(); ++i) {
      field_of_key[kind][static_cast<std::size_t>(kSchemas[kind].fields[i].key)] =
          static_cast<std::uint8_t>(i);
    }
  }
  return field_of_key;
}

}  // namespace

std::optional<OperatorKind> FindOperatorKind(std::string_view name) {
  const auto found = std::ranges::find(kSchemas, name, &Schema::name);
  return found == kSchemas.end() ? std::nullopt : std::optional(found->kind);
}

Operator::Operator(OperatorKind kind, DataType type) : kind_(kind), type_(type) {
  const std::span<const Field> fields = SchemaOf(kind).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    values_[i] = fields[i].fallback.value_or(1);
  }
}

std::int64_t Operator::Get(Key key) const {
  return values_[IndexIn(SchemaOf(kind_), key)];
}

std::int64_t Operator::GetOr(Key key, std::int64_t otherwise) const {
  const std::optional<std::size_t> index = SchemaOf(kind_).IndexOf(key);
  return index ? values_[*index] : otherwise;
}

Operator& Operator::Set(Key key, std::int64_t value) {
  values_[IndexIn(SchemaOf(kind_), key)] = value;
  return *this;
}

Operator& Operator::Set(Key key, std::string_view word) {
  const Schema& schema = SchemaOf(kind_);
  const std::size_t index = IndexIn(schema, key);
  const std::span<const std::string_view> words = schema.fields[index].words;
  const auto found = std::ranges::find(words, word);
  ORRERY_CHECK(found != words.end(), word);
  values_[index] = found - words.begin();
  return *this;
}

Operator Operator::WithType(DataType type) const {
  Operator other = *this;
  other.type_ = type;
  return other;
}

std::string_view Operator::Word(Key key) const {
  const Schema& schema = SchemaOf(kind_);
  const std::size_t index = IndexIn(schema, key);
  return schema.fields[index].words[static_cast<std::size_t>(values_[index])];
}

Result<Operator> ParseOperator(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  if (words.empty()) {
    return Invalid("an operator is missing, such as 'gemm m=4096 n=4096 k=4096 bf16'");
  }
  const std::optional<OperatorKind> kind = FindOperatorKind(words.front());
  if (!kind) {
    return Invalid("unknown operator '{}'; expected one of {}", words.front(),
                   fmt::join(kSchemas | std::views::transform(&Schema::name), ", "));
  }
  PartialOperator partial{.op = Operator(*kind, DataType::kBf16)};
  for (const std::string_view word : std::span(words).subspan(1)) {
    const std::size_t equals = word.find('=');
    ORRERY_TRY_STATUS(equals == std::string_view::npos
                          ? AddType(word, partial)
                          : AddParameter(word.substr(0, equals), word.substr(equals + 1), partial));
  }
  return Finish(partial);
}

std::string Text(const Operator& op) {
  const Schema& schema = SchemaOf(op.kind());
  std::string text(schema.name);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const std::int64_t value = op.values()[i];
    if (field.fallback == value && field.type != FieldType::kSize) {
      continue;
    }
    if (field.type == FieldType::kWord) {
      text += fmt::format(" {}={}", field.name, field.words[static_cast<std::size_t>(value)]);
    } else {
      text += fmt::format(" {}={}", field.name, value);
    }
  }
  if (op.is_warm()) {
    text += " warm=1";
  }
  return fmt::format("{} {}", text, DataTypeName(op.type()));
}

std::size_t OperatorHash::operator()(const Operator& op) const {
  // Multiply and rotate: 14 words in about ten nanoseconds, far below the time of a prediction.
  std::uint64_t hash = (static_cast<std::uint64_t>(op.kind()) << 16U) |
                       (static_cast<std::uint64_t>(op.type()) << 8U) |
                       static_cast<std::uint64_t>(op.is_warm());
  for (const std::int64_t value : op.values()) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

constinit const std::array<FieldOfKey, kNumOperatorKinds> kFieldOfKey = FieldsOfKeys();

const Schema& SchemaOf(OperatorKind kind) {
  return kSchemas[static_cast<std::size_t>(kind)];
}

}  // namespace orrery::kernel
