#include "orrery/kernel/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/kernel/bound.h"
#include "orrery/kernel/list_chunks.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {

namespace {

struct Tile {
  double m;
  double n;
};

/// Result tiles that GEMM libraries use; see the reference on features.
constexpr auto kTiles = std::to_array<Tile>({{32, 32},
                                             {64, 64},
                                             {128, 64},
                                             {64, 128},
                                             {128, 128},
                                             {192, 128},
                                             {128, 192},
                                             {128, 256},
                                             {256, 128}});

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

/// What is left of a size after pairs are taken from it.
double Oddness(double size) {
  return size - 2 * std::floor(size / 2);
}

/// Collects values.
class ValueSink {
 public:
  void Add(std::string_view /*name*/, double value) { row_.Add(value); }

  [[nodiscard]] const FeatureRow& row() const { return row_; }

 private:
  FeatureRow row_;
};

/// Collects names.
class NameSink {
 public:
  void Add(std::string_view name, double /*value*/) { names_.emplace_back(name); }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// Blocks over all multiprocessors: how many waves, and how full the last one makes them.
template <typename Sink>
void AddWaves(Sink& sink, std::string_view name, double blocks, const hardware::Gpu& gpu) {
  const double waves = blocks / gpu.multiprocessors;
  const double whole = std::ceil(waves);
  sink.Add(fmt::format("waves {}", name), Log2(whole));
  sink.Add(fmt::format("filled {}", name), waves / whole);
}

template <>
void AddWaves(ValueSink& sink, std::string_view /*name*/, double blocks, const hardware::Gpu& gpu) {
  const double waves = blocks / gpu.multiprocessors;
  const double whole = std::ceil(waves);
  sink.Add({}, Log2(whole));
  sink.Add({}, waves / whole);
}

double Padding(double size, double tile) {
  return std::ceil(size / tile) * tile / size;
}

template <typename Sink>
void AddParameters(Sink& sink, const Operator& op) {
  const std::span<const Field> fields = SchemaOf(op.kind()).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = static_cast<double>(op.values()[i]);
    sink.Add(fields[i].name, fields[i].type == FieldType::kSize ? Log2(value) : value);
  }
  sink.Add("type", static_cast<double>(op.type()));
  sink.Add("warm", op.is_warm() ? 1 : 0);
}

template <typename Sink>
void AddWork(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const Work work = WorkOf(op);
  const Bound bound = BoundOf(op, work, gpu);
  sink.Add("bound", Log2(bound.Seconds()));
  sink.Add("compute to memory", Log2(bound.compute_seconds) - Log2(bound.memory_seconds));
  sink.Add("bytes", Log2(work.Bytes()));
  sink.Add("bytes to cache", Log2(work.Bytes() / static_cast<double>(gpu.last_level_cache.count)));
  sink.Add("read to written", Log2((work.read_bytes + 1) / (work.write_bytes + 1)));
}

template <typename Sink>
void AddGemm(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const GemmShape shape = GemmOf(op);
  sink.Add("product b", Log2(shape.batch));
  sink.Add("product m", Log2(shape.m));
  sink.Add("product n", Log2(shape.n));
  sink.Add("product k", Log2(shape.k));
  for (const Tile& tile : kTiles) {
    const double tiles = shape.batch * std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n);
    AddWaves(sink, "tile", tiles, gpu);
  }
  for (const double tile : {8.0, 16.0, 32.0, 64.0, 96.0, 128.0, 192.0, 256.0}) {
    sink.Add("tiles m", std::min(std::ceil(shape.m / tile), kCountedTiles));
  }
  for (const double tile : {16.0, 64.0, 128.0, 256.0}) {
    sink.Add("padding m", Padding(shape.m, tile));
    sink.Add("padding n", Padding(shape.n, tile));
  }
  sink.Add("odd m", Oddness(shape.m));
  sink.Add("alignment m", Alignment(shape.m));
  sink.Add("alignment n", Alignment(shape.n));
  sink.Add("alignment k", Alignment(shape.k));
}

/// The contiguous size in memory, and its count.
struct Matrix {
  double rows = 1;
  double cols = 1;
};

Matrix MatrixOf(const Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kReduce:
      return op.Get(Key::kInner) == 1 ? Matrix{op.Number(Key::kOuter), op.Number(Key::kReduced)}
                                      : Matrix{op.Number(Key::kOuter) * op.Number(Key::kReduced),
                                               op.Number(Key::kInner)};
    case OperatorKind::kBatchNorm:
      return op.Get(Key::kChannelsLast) != 0
                 ? Matrix{op.Number(Key::kB) * op.Number(Key::kPixels), op.Number(Key::kC)}
                 : Matrix{op.Number(Key::kB) * op.Number(Key::kC), op.Number(Key::kPixels)};
    case OperatorKind::kEmbedding:
    case OperatorKind::kIndex:
      return {op.Number(Key::kLookups), op.Number(Key::kDim)};
    case OperatorKind::kEmbeddingBag:
      return {op.Number(Key::kBags), op.Number(Key::kDim)};
    case OperatorKind::kMoePermute:
      return {op.Number(Key::kTokens) * op.Number(Key::kK), op.Number(Key::kHidden)};
    case OperatorKind::kTranspose:
      return {op.Number(Key::kB) * op.Number(Key::kM), op.Number(Key::kN)};
    case OperatorKind::kConcat:
      return {op.Number(Key::kN) / op.Number(Key::kRun), op.Number(Key::kRun)};
    case OperatorKind::kMaxPool:
    case OperatorKind::kAvgPool:
    case OperatorKind::kUpsample: {
      const double pixels = op.Number(Key::kHeight) * op.Number(Key::kWidth);
      return op.Get(Key::kChannelsLast) != 0
                 ? Matrix{op.Number(Key::kB) * pixels, op.Number(Key::kC)}
                 : Matrix{op.Number(Key::kB) * op.Number(Key::kC), pixels};
    }
    default:
      return op.GetOr(Key::kCols, 0) > 0 ? Matrix{op.Number(Key::kRows), op.Number(Key::kCols)}
                                         : Matrix{1, static_cast<double>(op.GetOr(Key::kN, 1))};
  }
}

template <typename Sink>
void AddStream(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const Matrix matrix = MatrixOf(op);
  const double elements = matrix.rows * matrix.cols;
  sink.Add("stream rows", Log2(matrix.rows));
  sink.Add("stream cols", Log2(matrix.cols));
  sink.Add("stream elements", Log2(elements));
  AddWaves(sink, "of rows", matrix.rows, gpu);
  AddWaves(sink, "of 1024 elements", elements / 1024, gpu);
  AddWaves(sink, "of 4096 elements", elements / 4096, gpu);
  sink.Add("alignment cols", Alignment(matrix.cols));
  sink.Add("alignment elements", Alignment(elements));
  sink.Add("padding cols", std::exp2(std::ceil(Log2(matrix.cols))) / std::max(matrix.cols, 1.0));
}

/// The most blocks and tensors per launch of PyTorch's kernels over lists.
constexpr double kChunksOfLaunch = 320;
constexpr double kTensorsOfLaunch = 30;

template <typename Sink>
void AddLists(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const double elements = op.Number(Key::kN);
  const double tensors = op.Number(Key::kTensors);
  const double chunks =
      op.Get(Key::kChunks) > 0
          ? op.Number(Key::kChunks)
          : std::max(tensors, std::ceil(elements / static_cast<double>(kListChunkElements)));
  sink.Add("elements of a tensor", Log2(elements / tensors));
  sink.Add("elements of a chunk", Log2(elements / chunks));
  sink.Add("all chunks", Log2(chunks));
  sink.Add("launches", std::min(std::max(std::ceil(chunks / kChunksOfLaunch),
                                         std::ceil(tensors / kTensorsOfLaunch)),
                                kCountedTiles));
  AddWaves(sink, "of chunks", std::min(chunks, kChunksOfLaunch), gpu);
  AddWaves(sink, "of all chunks", chunks, gpu);
}

template <typename Sink>
void AddAttention(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const double heads = op.Number(Key::kB) * op.Number(Key::kHeads);
  for (const double tile : {64.0, 128.0}) {
    AddWaves(sink, "of queries", heads * std::ceil(op.Number(Key::kQueryLength) / tile), gpu);
    AddWaves(sink, "of keys", heads * std::ceil(op.Number(Key::kKeyLength) / tile), gpu);
  }
  sink.Add("heads", Log2(heads));
  sink.Add("group", Log2(op.Number(Key::kHeads) / op.Number(Key::kKvHeads)));
  sink.Add("queries to keys", Log2(op.Number(Key::kQueryLength) / op.Number(Key::kKeyLength)));
  sink.Add("alignment q", Alignment(op.Number(Key::kQueryLength)));
  sink.Add("alignment k", Alignment(op.Number(Key::kKeyLength)));
}

GemmShape ForwardGemm(Operator op) {
  op.Set(Key::kPass, "fwd");
  return GemmOf(op);
}

template <typename Sink>
void AddConv(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const double groups = std::max(op.Number(Key::kGroups), 1.0);
  sink.Add("channels of a group", Log2(op.Number(Key::kC) / groups));
  sink.Add("out channels of a group", Log2(op.Number(Key::kOutChannels) / groups));
  sink.Add("alignment c", Alignment(op.Number(Key::kC)));
  sink.Add("alignment oc", Alignment(op.Number(Key::kOutChannels)));
  const GemmShape forward = ForwardGemm(op);
  const double images = op.Number(Key::kB);
  const double element = ElementBytes(op.type());
  sink.Add("pixels of an image", Log2(forward.m / images));
  sink.Add("input bytes",
           Log2(images * op.Number(Key::kC) * element *
                static_cast<double>(op.GetOr(Key::kHeight, 1)) * op.Number(Key::kWidth)));
  sink.Add("output bytes", Log2(forward.m * op.Number(Key::kOutChannels) * element));
  sink.Add("weight bytes", Log2(op.Number(Key::kOutChannels) * forward.k * element));
  sink.Add("is depthwise", op.Get(Key::kGroups) > 1 && op.Get(Key::kGroups) == op.Get(Key::kC));
  sink.Add("flops of a tap", Log2(2 * forward.m * forward.n * forward.k * forward.batch));
  for (const double tile : {64.0, 128.0}) {
    // The weight gradient uses split-K where its tiles are few.
    const double tiles = std::ceil(forward.n / tile) * std::ceil(forward.k / tile);
    AddWaves(sink, "of weights", tiles * forward.batch, gpu);
    AddWaves(sink, "of pixels", std::ceil(forward.m / tile) * std::ceil(forward.n / tile), gpu);
  }
}

template <typename Sink>
void AddLookups(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  const double lookups = op.kind() == OperatorKind::kEmbeddingBag
                             ? op.Number(Key::kBags) * op.Number(Key::kPool)
                             : op.Number(Key::kLookups);
  const double table = op.Number(Key::kRows) * op.Number(Key::kDim) * ElementBytes(op.type());
  sink.Add("lookups", Log2(lookups));
  sink.Add("lookups to rows", Log2(lookups / op.Number(Key::kRows)));
  sink.Add("table to cache", Log2(table / static_cast<double>(gpu.last_level_cache.count)));
}

template <typename Sink>
void AddOfKind(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  switch (op.kind()) {
    case OperatorKind::kAttention:
      AddAttention(sink, op, gpu);
      break;
    case OperatorKind::kConv:
    case OperatorKind::kConv1d:
      AddConv(sink, op, gpu);
      AddGemm(sink, op, gpu);
      break;
    case OperatorKind::kGemm:
    case OperatorKind::kBatchedGemm:
    case OperatorKind::kGroupedGemm:
    case OperatorKind::kMoe:
      AddGemm(sink, op, gpu);
      break;
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
    case OperatorKind::kIndex:
      AddLookups(sink, op, gpu);
      AddStream(sink, op, gpu);
      break;
    case OperatorKind::kOptimizer:
    case OperatorKind::kGradientNorm:
    case OperatorKind::kForeach:
      AddLists(sink, op, gpu);
      break;
    default:
      AddStream(sink, op, gpu);
  }
}

template <typename Sink>
void AddAll(Sink& sink, const Operator& op, const hardware::Gpu& gpu) {
  AddParameters(sink, op);
  AddWork(sink, op, gpu);
  AddOfKind(sink, op, gpu);
}

}  // namespace

void FeatureRow::Add(double value) {
  ORRERY_CHECK(size_ < kMaxFeatures, "too many features");
  constexpr double kStepsPerUnit = 1024;
  values_[size_++] = static_cast<float>(std::nearbyint(value * kStepsPerUnit) / kStepsPerUnit);
}

FeatureRow FeaturesOf(const Operator& op, const hardware::Gpu& gpu) {
  ValueSink sink;
  AddAll(sink, op, gpu);
  return sink.row();
}

std::vector<std::string> FeatureNames(OperatorKind kind) {
  NameSink sink;
  AddAll(sink, Operator(kind, DataType::kBf16), hardware::GpuCatalogue().front());
  return sink.names();
}

}  // namespace orrery::kernel
