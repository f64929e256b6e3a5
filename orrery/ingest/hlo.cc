#include "orrery/ingest/hlo.h"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace orrery::ingest {
namespace {

using trace::CollectiveKind;
using trace::DataType;

std::optional<CollectiveKind> CollectiveOf(std::string_view operation) {
  using Entry = std::pair<std::string_view, CollectiveKind>;
  static constexpr auto kKinds = std::to_array<Entry>({
      {"all-reduce", CollectiveKind::kAllReduce},
      {"all-gather", CollectiveKind::kAllGather},
      {"reduce-scatter", CollectiveKind::kReduceScatter},
      {"all-to-all", CollectiveKind::kAllToAll},
      {"ragged-all-to-all", CollectiveKind::kAllToAll},
      {"collective-broadcast", CollectiveKind::kBroadcast},
      {"collective-permute", CollectiveKind::kSendRecv},
      {"send", CollectiveKind::kSend},
      {"recv", CollectiveKind::kRecv},
  });
  for (const auto& [name, kind] : kKinds) {
    if (operation == name) {
      return kind;
    }
  }
  return std::nullopt;
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

DataType TypeOf(std::string_view name) {
  using Entry = std::pair<std::string_view, DataType>;
  static constexpr auto kTypes = std::to_array<Entry>({
      {"f64", DataType::kFloat64},
      {"f32", DataType::kFloat32},
      {"f16", DataType::kFloat16},
      {"bf16", DataType::kBFloat16},
      {"s64", DataType::kInt64},
      {"s32", DataType::kInt32},
      {"s16", DataType::kInt16},
      {"s8", DataType::kInt8},
      {"u8", DataType::kUInt8},
      {"pred", DataType::kBool},
      {"c64", DataType::kComplex64},
      {"c128", DataType::kComplex128},
  });
  for (const auto& [word, type] : kTypes) {
    if (name == word) {
      return type;
    }
  }
  if (name.starts_with("f8e4m3")) {
    return DataType::kFloat8E4M3;
  }
  return name.starts_with("f8e5m2") ? DataType::kFloat8E5M2 : DataType::kUnknown;
}

// "5,1024" → 5120; an empty list is a scalar.
std::optional<std::int64_t> Product(std::string_view dimensions) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 50;
  std::int64_t product = 1;
  while (!dimensions.empty()) {
    std::int64_t size = 0;
    const char* const end = dimensions.data() + dimensions.size();
    const auto [stop, error] = std::from_chars(dimensions.data(), end, size);
    if (error != std::errc() || size < 0 || (size > 0 && product > kLargest / size)) {
      return std::nullopt;
    }
    product *= size;
    dimensions.remove_prefix(static_cast<std::size_t>(stop - dimensions.data()));
    if (!dimensions.empty() && dimensions.front() != ',') {
      return std::nullopt;
    }
    dimensions.remove_prefix(dimensions.empty() ? 0 : 1);
  }
  return product;
}

}  // namespace

HloCategory ParseHloCategory(std::string_view category) {
  HloCategory parsed;
  if (TakeSuffix(category, "-start")) {
    parsed.phase = HloCategory::Phase::kStart;
  } else if (TakeSuffix(category, "-done")) {
    parsed.phase = HloCategory::Phase::kDone;
  }
  TakeSuffix(category, " fusion");
  // These two never have another word for their start.
  if (category == "send" || category == "recv") {
    parsed.phase =
        parsed.phase == HloCategory::Phase::kWhole ? HloCategory::Phase::kStart : parsed.phase;
  }
  parsed.is_around_others = category == "while" || category == "conditional" || category == "call";
  parsed.is_copy = category == "copy";
  parsed.collective = CollectiveOf(category);
  return parsed;
}

trace::ActivityKind ActivityKindOf(const HloCategory& category, bool on_async_line) {
  const bool is_half = category.phase != HloCategory::Phase::kWhole && !on_async_line;
  if (is_half || category.is_around_others) {
    return trace::ActivityKind::kOther;
  }
  if (category.is_copy) {
    return trace::ActivityKind::kMemcpy;
  }
  return on_async_line && !category.collective ? trace::ActivityKind::kOther
                                               : trace::ActivityKind::kKernel;
}

std::optional<std::int32_t> DeviceInXlaName(std::string_view name) {
  constexpr std::string_view kDevice = "/device:";
  const std::size_t at = name.find(kDevice);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::int32_t device = -1;
  const std::size_t digits = name.find_first_of("0123456789", at + kDevice.size());
  if (digits != std::string_view::npos) {
    std::from_chars(name.data() + digits, name.data() + name.size(), device);
  }
  return device;
}

std::optional<HloShape> ParseHloShape(std::string_view shape) {
  const std::size_t open = shape.find('[');
  const std::size_t close = shape.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      shape.starts_with('(')) {
    return std::nullopt;
  }
  const auto elements = Product(shape.substr(open + 1, close - open - 1));
  if (!elements) {
    return std::nullopt;
  }
  return HloShape{.data_type = TypeOf(shape.substr(0, open)), .elements = *elements};
}

}  // namespace orrery::ingest
