#include "orrery/ingest/hlo.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest {
namespace {

constexpr auto kCollectives = std::to_array<std::pair<std::string_view, CollectiveKind>>({
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

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

constexpr auto kTypes = std::to_array<std::pair<std::string_view, DataType>>({
    {"f64", DataType::kFp64},
    {"f32", DataType::kFp32},
    {"f16", DataType::kFp16},
    {"bf16", DataType::kBf16},
    {"s64", DataType::kInt64},
    {"s32", DataType::kInt32},
    {"s16", DataType::kInt16},
    {"s8", DataType::kInt8},
    {"u8", DataType::kUInt8},
    {"pred", DataType::kBool},
    {"c64", DataType::kComplex64},
    {"c128", DataType::kComplex128},
});

DataType TypeOf(std::string_view name) {
  return name.starts_with("f8e4m3")   ? DataType::kFp8
         : name.starts_with("f8e5m2") ? DataType::kFp8E5M2
                                      : LookUp(kTypes, name).value_or(DataType::kUnknown);
}

// "5,1024" → 5120; an empty list is a scalar.
std::optional<std::int64_t> NumElements(std::string_view dimensions) {
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
  if ((category == "send" || category == "recv") && parsed.phase == HloCategory::Phase::kWhole) {
    parsed.phase = HloCategory::Phase::kStart;
  }
  parsed.is_around_others = category == "while" || category == "conditional" || category == "call";
  parsed.is_copy = category == "copy";
  parsed.collective = LookUp(kCollectives, category);
  return parsed;
}

std::optional<trace::ActivityKind> ActivityKindOf(const HloCategory& category, bool on_async_line) {
  const bool is_half = category.phase != HloCategory::Phase::kWhole && !on_async_line;
  if (is_half || category.is_around_others) {
    return std::nullopt;
  }
  if (category.is_copy) {
    return trace::ActivityKind::kMemcpy;
  }
  // Other asynchronous operations wrap a computation, whose operations have their own rows.
  return on_async_line && !category.collective ? std::nullopt
                                               : std::optional(trace::ActivityKind::kKernel);
}

trace::CopyKind HloCopyKind(std::string_view text) {
  constexpr std::string_view kStart = " copy-start(";
  constexpr std::string_view kHostMemory = "S(5)";
  const std::size_t call = text.find(kStart);
  const std::size_t tuple = text.find("= (");
  if (call == std::string_view::npos || tuple > call) {
    return trace::CopyKind::kUnknown;
  }
  // The copy's result is a tuple that begins with the destination, its operand is the source.
  const auto is_on_host = [&](std::string_view rest) {
    return rest.substr(0, rest.find('}')).find(kHostMemory) != std::string_view::npos;
  };
  const bool to_host = is_on_host(text.substr(tuple, call - tuple));
  const bool from_host = is_on_host(text.substr(call));
  return to_host == from_host
             ? (to_host ? trace::CopyKind::kHostToHost : trace::CopyKind::kDeviceToDevice)
         : to_host ? trace::CopyKind::kDeviceToHost
                   : trace::CopyKind::kHostToDevice;
}

std::optional<std::int32_t> DeviceInXlaName(std::string_view name) {
  constexpr std::string_view kDevice = "/device:";
  const std::size_t at = name.find(kDevice);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t digits = name.find_first_of("0123456789", at + kDevice.size());
  return ParsePrefix<std::int32_t>(name.substr(std::min(digits, name.size()))).value_or(-1);
}

std::optional<HloShape> ParseHloShape(std::string_view shape) {
  const std::size_t open = shape.find('[');
  const std::size_t close = shape.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      shape.starts_with('(')) {
    return std::nullopt;
  }
  const auto elements = NumElements(shape.substr(open + 1, close - open - 1));
  return elements ? std::optional(HloShape{TypeOf(shape.substr(0, open)), *elements})
                  : std::nullopt;
}

}  // namespace orrery::ingest
