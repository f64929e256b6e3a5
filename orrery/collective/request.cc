#include "orrery/collective/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/base/units.h"

namespace orrery::collective {
namespace {

constexpr std::int64_t kBarrierBytes = 4;

template <typename Value>
using Spelling = std::pair<std::string_view, Value>;

// Underscores and case are ignored.
constexpr std::array<Spelling<CollectiveKind>, 10> kKinds{{
    {"all_reduce", CollectiveKind::kAllReduce},
    {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"all_to_all", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
    {"send_recv", CollectiveKind::kSendRecv},
    {"barrier", CollectiveKind::kBarrier},
    {"bcast", CollectiveKind::kBroadcast},
    {"point_to_point", CollectiveKind::kSendRecv},
}};

constexpr std::array<Spelling<std::int64_t>, 14> kUnits{{
    {"", 1},
    {"b", 1},
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"tb", 1'000'000'000'000},
    {"pb", 1'000'000'000'000'000},
    {"kib", 1LL << 10},
    {"mib", 1LL << 20},
    {"gib", 1LL << 30},
    {"tib", 1LL << 40},
    {"k", 1LL << 10},  // as in nccl-tests
    {"m", 1LL << 20},
    {"g", 1LL << 30},
}};

std::string Folded(std::string_view text) {
  std::string folded = LowerCase(text);
  std::erase_if(folded, [](char c) { return c == '_' || c == '-'; });
  return folded;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      return words;
    }
    text.remove_prefix(begin);
    const std::size_t length = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace

Result<CollectiveKind> ParseCollectiveKind(std::string_view text) {
  std::vector<std::string_view> known;
  for (const auto& [spelling, kind] : kKinds) {
    if (Folded(spelling) == Folded(text)) {
      return kind;
    }
    known.push_back(spelling);
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("'{}' is not a known collective; expected one of {}", text,
                          fmt::join(known, ", ")));
}

Result<DataType> ParseElementType(std::string_view text) {
  const DataType type = ParseDataType(text);
  if (type == DataType::kUnknown) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("'{}' is not a known data type; write one such as float, half, "
                            "bfloat16, fp8, int32 or int8",
                            text));
  }
  return type;
}

Result<Bytes> ParseSize(std::string_view text) {
  const auto fail = [&] {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("'{}' is not a size; write bytes or a number with KB, MB, GB, TB, KiB, MiB, "
                    "GiB or TiB, such as 64MiB",
                    text));
  };
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) {
    return fail();
  }
  const std::string unit = LowerCase(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const auto& [spelling, factor] : kUnits) {
    const double bytes = number * static_cast<double>(factor);
    if (unit == spelling && bytes >= 0 && bytes <= 0x1p62 && bytes == std::floor(bytes)) {
      return Bytes{static_cast<std::int64_t>(bytes)};
    }
  }
  return fail();
}

Result<Request> ParseRequest(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  if (words.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "a collective is a kind and a size, such as 'allreduce 64MiB', not an empty text");
  }
  ORRERY_TRY(const CollectiveKind kind, ParseCollectiveKind(words[0]));
  Request request{.kind = kind, .size = {kBarrierBytes}};
  const bool has_size = kind != CollectiveKind::kBarrier;
  const std::size_t most_words = has_size ? 3 : 1;
  if (has_size && words.size() < 2) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("'{}' has no size; add one, such as '{} 64MiB'", text, text));
  }
  if (words.size() > most_words) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("'{}' has more than a {}", text,
                    has_size ? "kind, a size and a type" : "barrier needs, which is nothing"));
  }
  if (has_size) {
    ORRERY_TRY(request.size, ParseSize(words[1]));
  }
  if (words.size() == 3) {
    ORRERY_TRY(request.element, ParseElementType(words[2]));
  }
  return request;
}

double BusFactor(CollectiveKind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier:
      return 2 * others;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return others;
    default:
      return 1;
  }
}

bool SwitchReduces(DataType element) {
  return ElementBytes(element) >= 2;
}

}  // namespace orrery::collective
