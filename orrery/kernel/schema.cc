// The table of kinds and their parameters; docs/formats/operators.md defines them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/kernel/operator.h"

namespace orrery::kernel {

namespace {

using enum FieldType;

constexpr auto kLayoutWords = std::to_array<std::string_view>({"nn", "nt", "tn", "tt"});
constexpr auto kPassWords = std::to_array<std::string_view>({"fwd", "bwd", "dgrad", "wgrad"});
constexpr auto kBackendWords =
    std::to_array<std::string_view>({"auto", "cudnn", "flash", "efficient", "math"});
constexpr auto kModeWords =
    std::to_array<std::string_view>({"contiguous", "broadcast", "strided", "transposed"});
constexpr auto kTypeWords = std::to_array<std::string_view>(
    {"same", "bf16", "fp16", "fp32", "tf32", "fp8", "fp64", "int8", "int32", "int64", "bool"});
constexpr auto kReduceWords = std::to_array<std::string_view>({"sum", "mean", "max", "norm"});
constexpr auto kDirectionWords = std::to_array<std::string_view>({"h2d", "d2h", "d2d"});
constexpr auto kOptimizerWords =
    std::to_array<std::string_view>({"adamw", "adam", "sgd", "adamw_foreach"});
constexpr auto kForeachWords = std::to_array<std::string_view>({"add", "mul", "norm"});
constexpr auto kElementwiseWords =
    std::to_array<std::string_view>({"add",           "sub",
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
                                     "reciprocal",    "other"});

constexpr Field Size(Key key, std::string_view name) {
  return {key, name, kSize};
}

constexpr Field Count(Key key, std::string_view name, std::int64_t fallback) {
  return {key, name, kCount, fallback};
}

constexpr Field Shift(Key key, std::string_view name) {
  return {key, name, kShift, 0};
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
constexpr auto kTril = std::to_array<Field>({kB, kM, kN, Shift(Key::kDiagonal, "diag"), kPass});
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

constinit const std::array<FieldOfKey, kNumOperatorKinds> kFieldOfKey = FieldsOfKeys();

const Schema& SchemaOf(OperatorKind kind) {
  return kSchemas[static_cast<std::size_t>(kind)];
}

}  // namespace orrery::kernel
