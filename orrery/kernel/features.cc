#include "orrery/kernel/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {
namespace {

using enum Key;

struct Tile {
  double m;
  double n;
};

/// Result tiles that GEMM libraries use; see the reference on features.
constexpr Tile kTiles[] = {{32, 32},   {64, 64},   {128, 64},  {64, 128}, {128, 128},
                           {192, 128}, {128, 192}, {128, 256}, {256, 128}};

constexpr double kSmall = 1e-12;

/// Tiles are counted one by one up to this many.
constexpr double kCountedTiles = 64;

double Log2(double value) {
  return std::log2(std::max(value, kSmall));
}

/// log2 of the largest power of two up to 64 that divides a size: the alignment that vector loads
/// and tensor cores need.
double Alignment(double size) {
  const auto whole = static_cast<std::uint64_t>(std::min(size, 1e15));
  return std::min(std::countr_zero(whole), 6);
}

struct Features {
  FeatureRow row = {};
  std::vector<std::string>* names = nullptr;

  void Add(std::string_view name, double value) {
    row.Add(value);
    if (names != nullptr) {
      names->emplace_back(name);
    }
  }

  /// Blocks over all multiprocessors: how many waves, and how full the last one makes them.
  void AddWaves(std::string_view name, double blocks, const hardware::Gpu& gpu) {
    const double waves = blocks / gpu.multiprocessors;
    const double whole = std::ceil(waves);
    Add(names == nullptr ? "" : fmt::format("waves {}", name), Log2(whole));
    Add(names == nullptr ? "" : fmt::format("filled {}", name), waves / whole);
  }
};

double Padding(double size, double tile) {
  return std::ceil(size / tile) * tile / size;
}

void AddParameters(Features& features, const Operator& op) {
  const std::span<const Field> fields = SchemaOf(op.kind()).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = static_cast<double>(op.values()[i]);
    features.Add(fields[i].name, fields[i].type == FieldType::kSize ? Log2(value) : value);
  }
  features.Add("type", static_cast<double>(OperatorTypeNumber(op.type())));
  features.Add("warm", op.is_warm() ? 1 : 0);
}

void AddWork(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const Work work = WorkOf(op);
  const Bound bound = BoundOf(op, work, gpu);
  features.Add("bound", Log2(bound.Seconds()));
  features.Add("compute to memory", Log2(bound.compute_seconds) - Log2(bound.memory_seconds));
  features.Add("bytes", Log2(work.Bytes()));
  features.Add("bytes to cache",
               Log2(work.Bytes() / static_cast<double>(gpu.last_level_cache.count)));
  features.Add("read to written", Log2((work.read_bytes + 1) / (work.write_bytes + 1)));
}

void AddGemm(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const GemmShape shape = GemmOf(op);
  features.Add("product b", Log2(shape.batch));
  features.Add("product m", Log2(shape.m));
  features.Add("product n", Log2(shape.n));
  features.Add("product k", Log2(shape.k));
  for (const Tile& tile : kTiles) {
    const double tiles = shape.batch * std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n);
    features.AddWaves("tile", tiles, gpu);
  }
  for (const double tile : {8.0, 16.0, 32.0, 64.0, 96.0, 128.0, 192.0, 256.0}) {
    features.Add("tiles m", std::min(std::ceil(shape.m / tile), kCountedTiles));
  }
  for (const double tile : {16.0, 64.0, 128.0, 256.0}) {
    features.Add("padding m", Padding(shape.m, tile));
    features.Add("padding n", Padding(shape.n, tile));
  }
  features.Add("odd m", std::fmod(shape.m, 2));
  features.Add("alignment m", Alignment(shape.m));
  features.Add("alignment n", Alignment(shape.n));
  features.Add("alignment k", Alignment(shape.k));
}

/// The contiguous size in memory, and its count.
struct Matrix {
  double rows = 1;
  double cols = 1;
};

Matrix MatrixOf(const Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kReduce:
      return op.Get(kInner) == 1
                 ? Matrix{op.Number(kOuter), op.Number(kReduced)}
                 : Matrix{op.Number(kOuter) * op.Number(kReduced), op.Number(kInner)};
    case OperatorKind::kBatchNorm:
      return op.Get(kChannelsLast) != 0 ? Matrix{op.Number(kB) * op.Number(kPixels), op.Number(kC)}
                                        : Matrix{op.Number(kB) * op.Number(kC), op.Number(kPixels)};
    case OperatorKind::kGroupNorm: {
      const double groups = std::max(op.Number(kGroups), 1.0);
      return {op.Number(kB) * groups, op.Number(kC) / groups * op.Number(kPixels)};
    }
    case OperatorKind::kEmbedding:
    case OperatorKind::kIndex:
      return {op.Number(kLookups), op.Number(kDim)};
    case OperatorKind::kEmbeddingBag:
      return {op.Number(kBags), op.Number(kDim)};
    case OperatorKind::kMoePermute:
      return {op.Number(kTokens) * op.Number(kK), op.Number(kHidden)};
    case OperatorKind::kTranspose:
      return {op.Number(kB) * op.Number(kM), op.Number(kN)};
    case OperatorKind::kConcat:
      return {op.Number(kN) / op.Number(kRun), op.Number(kRun)};
    case OperatorKind::kMaxPool:
    case OperatorKind::kAvgPool:
    case OperatorKind::kUpsample: {
      const double pixels = op.Number(kHeight) * op.Number(kWidth);
      return op.Get(kChannelsLast) != 0 ? Matrix{op.Number(kB) * pixels, op.Number(kC)}
                                        : Matrix{op.Number(kB) * op.Number(kC), pixels};
    }
    default:
      return op.GetOr(kCols, 0) > 0 ? Matrix{op.Number(kRows), op.Number(kCols)}
                                    : Matrix{1, static_cast<double>(op.GetOr(kN, 1))};
  }
}

void AddStream(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const Matrix matrix = MatrixOf(op);
  const double elements = matrix.rows * matrix.cols;
  features.Add("stream rows", Log2(matrix.rows));
  features.Add("stream cols", Log2(matrix.cols));
  features.Add("stream elements", Log2(elements));
  features.AddWaves("of rows", matrix.rows, gpu);
  features.AddWaves("of 1024 elements", elements / 1024, gpu);
  features.AddWaves("of 4096 elements", elements / 4096, gpu);
  features.Add("alignment cols", Alignment(matrix.cols));
  features.Add("alignment elements", Alignment(elements));
  features.Add("padding cols",
               std::exp2(std::ceil(Log2(matrix.cols))) / std::max(matrix.cols, 1.0));
}

/// The most blocks and tensors per launch of PyTorch's kernels over lists.
constexpr double kChunksOfLaunch = 320;
constexpr double kTensorsOfLaunch = 30;

void AddLists(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const double elements = op.Number(kN);
  const double tensors = op.Number(kTensors);
  const double chunks =
      op.Get(kChunks) > 0
          ? op.Number(kChunks)
          : std::max(tensors, std::ceil(elements / static_cast<double>(kListChunkElements)));
  features.Add("elements of a tensor", Log2(elements / tensors));
  features.Add("elements of a chunk", Log2(elements / chunks));
  features.Add("all chunks", Log2(chunks));
  features.Add("launches", std::min(std::max(std::ceil(chunks / kChunksOfLaunch),
                                             std::ceil(tensors / kTensorsOfLaunch)),
                                    kCountedTiles));
  features.AddWaves("of chunks", std::min(chunks, kChunksOfLaunch), gpu);
  features.AddWaves("of all chunks", chunks, gpu);
}

void AddAttention(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const double heads = op.Number(kB) * op.Number(kHeads);
  for (const double tile : {64.0, 128.0}) {
    features.AddWaves("of queries", heads * std::ceil(op.Number(kQueryLength) / tile), gpu);
    features.AddWaves("of keys", heads * std::ceil(op.Number(kKeyLength) / tile), gpu);
  }
  features.Add("heads", Log2(heads));
  features.Add("group", Log2(op.Number(kHeads) / op.Number(kKvHeads)));
  features.Add("queries to keys", Log2(op.Number(kQueryLength) / op.Number(kKeyLength)));
  features.Add("alignment q", Alignment(op.Number(kQueryLength)));
  features.Add("alignment k", Alignment(op.Number(kKeyLength)));
}

/// Steps of a sequence follow one another: the time of one step counts, not of the whole.
void AddRnn(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const GemmShape step = GemmOf(op);
  const double weights = step.batch * step.n * step.k * ElementBytes(op.type());
  features.Add("steps", Log2(op.Number(kSequence) * op.Number(kLayers)));
  features.Add("steps of a wavefront", Log2(op.Number(kSequence) + op.Number(kLayers) - 1));
  features.Add("flops of a step", Log2(step.batch * step.m * step.n * step.k));
  features.Add("recurrent weights", Log2(weights));
  features.Add("recurrent weights of a multiprocessor", Log2(weights / gpu.multiprocessors));
  features.Add("input to hidden", Log2(op.Number(kInput) / op.Number(kHidden)));
}

void AddConv(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const double groups = std::max(op.Number(kGroups), 1.0);
  features.Add("channels of a group", Log2(op.Number(kC) / groups));
  features.Add("out channels of a group", Log2(op.Number(kOutChannels) / groups));
  features.Add("alignment c", Alignment(op.Number(kC)));
  features.Add("alignment oc", Alignment(op.Number(kOutChannels)));
  const GemmShape forward = GemmOf(Operator(op).Set(kPass, "fwd"));
  const double images = op.Number(kB);
  const double element = ElementBytes(op.type());
  features.Add("pixels of an image", Log2(forward.m / images));
  features.Add("input bytes", Log2(images * op.Number(kC) * element *
                                   static_cast<double>(op.GetOr(kHeight, 1)) * op.Number(kWidth)));
  features.Add("output bytes", Log2(forward.m * op.Number(kOutChannels) * element));
  features.Add("weight bytes", Log2(op.Number(kOutChannels) * forward.k * element));
  features.Add("is depthwise", op.Get(kGroups) > 1 && op.Get(kGroups) == op.Get(kC));
  features.Add("flops of a tap", Log2(2 * forward.m * forward.n * forward.k * forward.batch));
  for (const double tile : {64.0, 128.0}) {
    // The weight gradient uses split-K where its tiles are few.
    const double tiles = std::ceil(forward.n / tile) * std::ceil(forward.k / tile);
    features.AddWaves("of weights", tiles * forward.batch, gpu);
    features.AddWaves("of pixels", std::ceil(forward.m / tile) * std::ceil(forward.n / tile), gpu);
  }
}

void AddLookups(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  const double lookups = op.kind() == OperatorKind::kEmbeddingBag
                             ? op.Number(kBags) * op.Number(kPool)
                             : op.Number(kLookups);
  const double table = op.Number(kRows) * op.Number(kDim) * ElementBytes(op.type());
  features.Add("lookups", Log2(lookups));
  features.Add("lookups to rows", Log2(lookups / op.Number(kRows)));
  features.Add("table to cache", Log2(table / static_cast<double>(gpu.last_level_cache.count)));
}

void AddAll(Features& features, const Operator& op, const hardware::Gpu& gpu) {
  AddParameters(features, op);
  AddWork(features, op, gpu);
  switch (op.kind()) {
    case OperatorKind::kAttention:
      AddAttention(features, op, gpu);
      break;
    case OperatorKind::kConv:
    case OperatorKind::kConv1d:
      AddConv(features, op, gpu);
      AddGemm(features, op, gpu);
      break;
    case OperatorKind::kRnn:
      AddRnn(features, op, gpu);
      AddGemm(features, op, gpu);
      break;
    case OperatorKind::kGemm:
    case OperatorKind::kBatchedGemm:
    case OperatorKind::kGroupedGemm:
    case OperatorKind::kMoe:
      AddGemm(features, op, gpu);
      break;
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
    case OperatorKind::kIndex:
      AddLookups(features, op, gpu);
      AddStream(features, op, gpu);
      break;
    case OperatorKind::kOptimizer:
    case OperatorKind::kGradientNorm:
    case OperatorKind::kForeach:
      AddLists(features, op, gpu);
      break;
    default:
      AddStream(features, op, gpu);
  }
}

}  // namespace

void FeatureRow::Add(double value) {
  ORRERY_CHECK(size_ < kMaxFeatures, "too many features");
  constexpr double kStepsPerUnit = 1024;
  values_[size_++] = static_cast<float>(std::nearbyint(value * kStepsPerUnit) / kStepsPerUnit);
}

FeatureRow FeaturesOf(const Operator& op, const hardware::Gpu& gpu) {
  Features features;
  AddAll(features, op, gpu);
  return features.row;
}

std::vector<std::string> FeatureNames(OperatorKind kind) {
  std::vector<std::string> names;
  Features features{.row = {}, .names = &names};
  AddAll(features, Operator(kind, DataType::kBf16), hardware::GpuCatalogue().front());
  return names;
}

}  // namespace orrery::kernel
