#include "orrery/kernel/efficiency.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/forest.h"

namespace orrery::kernel {
namespace {

constexpr auto kFeatureOfSize =
    std::to_array<std::string_view>({"alignment m", "alignment n", "alignment k"});
static_assert(kFeatureOfSize.size() == kGemmSizes.size());
constexpr double kAlignedBytes = 16;

bool IsGemmKind(OperatorKind kind) {
  return kind == OperatorKind::kGemm || kind == OperatorKind::kBatchedGemm;
}

std::int64_t AlignedElements(DataType type) {
  return std::max<std::int64_t>(1, std::llround(kAlignedBytes / ElementBytes(type)));
}

/// Types that libraries treat alike, best first: an unmeasured type uses the first measured one.
constexpr auto kSimilarTypes = std::to_array<std::pair<DataType, DataType>>({
    {DataType::kFp16, DataType::kBf16},
    {DataType::kBf16, DataType::kFp16},
    {DataType::kTf32, DataType::kFp32},
    {DataType::kFp32, DataType::kTf32},
    {DataType::kFp8, DataType::kFp8Block},
    {DataType::kFp8Block, DataType::kFp8},
    {DataType::kFp8, DataType::kBf16},
    {DataType::kInt32, DataType::kFp32},
    {DataType::kInt64, DataType::kFp32},
    {DataType::kFp64, DataType::kFp32},
    {DataType::kBool, DataType::kBf16},
    {DataType::kInt8, DataType::kBf16},
    {DataType::kInt8, DataType::kFp32},
    {DataType::kBool, DataType::kFp32},
    {DataType::kBf16, DataType::kFp32},
    {DataType::kFp16, DataType::kFp32},
});

std::optional<DataType> NearestType(DataType type, const std::bitset<32>& measured) {
  if (measured[OperatorTypeNumber(type)]) {
    return type;
  }
  for (const auto& [unmeasured, similar] : kSimilarTypes) {
    if (unmeasured == type && measured[OperatorTypeNumber(similar)]) {
      return similar;
    }
  }
  return std::nullopt;
}

bool IsReasonable(double value) {
  return std::isfinite(value) && value >= 0;
}

/// PyTorch's choice for "auto" on the measured GPUs: cuDNN for 16 bits, else the memory-efficient
/// kernels.
void ResolveBackend(Operator& op) {
  const bool is_half = op.type() == DataType::kBf16 || op.type() == DataType::kFp16;
  if (op.Word(Key::kBackend) == "auto") {
    op.Set(Key::kBackend, is_half ? "cudnn" : "efficient");
  }
}

}  // namespace

GemmSizes UnalignedSizes(const Operator& op) {
  GemmSizes sizes;
  if (!IsGemmKind(op.kind())) {
    return sizes;
  }
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    sizes[i] = op.Get(kGemmSizes[i]) % AlignedElements(op.type()) != 0;
  }
  return sizes;
}

Operator Aligned(const Operator& op, GemmSizes sizes) {
  const std::int64_t elements = AlignedElements(op.type());
  Operator aligned = op;
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    if (sizes[i]) {
      const std::int64_t blocks = (op.Get(kGemmSizes[i]) + elements - 1) / elements;
      aligned.Set(kGemmSizes[i], blocks * elements);
    }
  }
  return aligned;
}

AlignmentKnowledge::AlignmentKnowledge(OperatorKind kind, const learn::Forest& forest) {
  if (!IsGemmKind(kind)) {
    return;
  }
  const std::vector<std::string> names = FeatureNames(kind);
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    const auto feature = std::ranges::find(names, kFeatureOfSize[i]) - names.begin();
    smallest_split_[i] =
        forest.LeastThreshold(static_cast<std::size_t>(feature)).value_or(kNoSplit);
  }
}

GemmSizes AlignmentKnowledge::IndistinctSizes(DataType type) const {
  GemmSizes sizes;
  const double needed = std::log2(AlignedElements(type));
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    sizes[i] = smallest_split_[i] > needed;
  }
  return sizes;
}

double LaunchFloor::Join(double roofline_seconds) const {
  const double larger = std::max(seconds, roofline_seconds);
  const double smaller = std::min(seconds, roofline_seconds);
  return larger * std::pow(1 + std::pow(smaller / larger, sharpness), 1 / sharpness);
}

std::optional<EfficiencyModel::Placed> EfficiencyModel::Place(const Operator& op) const {
  const std::optional<DataType> type = NearestType(op.type(), domain_.types);
  if (!type) {
    return std::nullopt;
  }
  Placed placed{op.WithType(*type), *type != op.type()};
  if (op.kind() == OperatorKind::kAttention && domain_.timing == Timing::kKernels) {
    ResolveBackend(placed.op);
  }
  const std::span<const Field> fields = SchemaOf(op.kind()).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Range& range = domain_.range_of_field[i];
    const std::int64_t value = placed.op.values()[i];
    const std::int64_t nearest = std::clamp(value, range.least, range.most);
    placed.was_outside = placed.was_outside || nearest != value;
    // Words have no order: the forest treats an unknown word like its neighbour in the list.
    if (fields[i].type != FieldType::kWord && nearest != value) {
      placed.op.Set(fields[i].key, nearest);
    }
  }
  return placed;
}

GemmSizes EfficiencyModel::IndistinctSizes(const Operator& op) const {
  const std::optional<std::size_t> layout = SchemaOf(op.kind()).IndexOf(Key::kLayout);
  if (layout) {
    const Range& range = domain_.range_of_field[*layout];
    const std::int64_t value = op.values()[*layout];
    if (value < range.least || value > range.most) {
      return GemmSizes().set();
    }
  }
  return alignment_.IndistinctSizes(op.type());
}

std::string EfficiencyModel::Encode() const {
  ByteWriter writer;
  writer.Text(SchemaOf(domain_.kind).name);
  writer.Text(domain_.gpu);
  writer.Number(static_cast<std::uint8_t>(domain_.timing));
  writer.Number(static_cast<std::uint32_t>(domain_.types.to_ulong()));
  writer.Number(domain_.rows);
  writer.Number(static_cast<std::uint32_t>(SchemaOf(domain_.kind).fields.size()));
  for (const Field& field : SchemaOf(domain_.kind).fields) {
    const Range& range = domain_.range_of_field[*SchemaOf(domain_.kind).IndexOf(field.key)];
    writer.Number(range.least);
    writer.Number(range.most);
  }
  learn::WriteDouble(writer, floor_.seconds);
  learn::WriteDouble(writer, floor_.sharpness);
  learn::WriteDouble(writer, deviation_);
  writer.Text(learn::EncodeForest(forest_));
  return writer.bytes();
}

Result<EfficiencyModel> EfficiencyModel::Decode(std::string_view bytes) {
  const auto damaged = [](std::string_view what) {
    return Invalid(std::string("a kernel model in the file ") + std::string(what) +
                   "; fit it again with this version of orrery");
  };
  ByteReader reader(bytes);
  Domain domain;
  const std::optional<OperatorKind> kind = FindOperatorKind(reader.Text());
  if (!kind) {
    return damaged("is of an unknown operator");
  }
  domain.kind = *kind;
  domain.gpu = reader.Text();
  domain.timing = reader.EnumBelow<Timing>(kNumTimings);
  domain.types = std::bitset<32>(reader.Number<std::uint32_t>());
  domain.rows = reader.Number<std::uint64_t>();
  const std::size_t num_fields = reader.Count(2 * sizeof(std::int64_t));
  if (reader.failed() || num_fields != SchemaOf(*kind).fields.size()) {
    return damaged("has other parameters than the operator");
  }
  for (std::size_t i = 0; i < num_fields; ++i) {
    domain.range_of_field[i].least = reader.Number<std::int64_t>();
    domain.range_of_field[i].most = reader.Number<std::int64_t>();
    if (domain.range_of_field[i].least > domain.range_of_field[i].most) {
      return damaged("is damaged");
    }
  }
  const LaunchFloor floor{learn::ReadDouble(reader), learn::ReadDouble(reader)};
  const double deviation = learn::ReadDouble(reader);
  const std::string forest_bytes = reader.Text();
  if (reader.failed() || !IsReasonable(floor.seconds) || !IsReasonable(deviation) ||
      !IsReasonable(floor.sharpness) || floor.sharpness < 0.1 || floor.seconds <= 0) {
    return damaged("is damaged");
  }
  ORRERY_TRY(learn::Forest forest, learn::DecodeForest(forest_bytes));
  if (forest.num_features() != FeatureNames(*kind).size()) {
    return damaged("was trained on other features");
  }
  return EfficiencyModel(std::move(domain), floor, deviation, std::move(forest));
}

}  // namespace orrery::kernel
