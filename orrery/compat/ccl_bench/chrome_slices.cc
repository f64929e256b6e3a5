#include "orrery/compat/ccl_bench/chrome_slices.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <vector>

#include "orrery/analyze/json_fields.h"
#include "orrery/base/text.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {

namespace {

using analyze::JsonField, analyze::JsonNumber;
using trace::Trace;

// The bytes of an element by the first number of its type ("bf16", "f8e4m3fn"); "pred" is a byte.
double ElementBytesOf(std::string_view type) {
  const std::size_t at = type.find_first_of("0123456789");
  if (at == std::string_view::npos) {
    return type.ends_with("pred") ? 1 : 0;
  }
  int bits = 0;
  std::from_chars(type.data() + at, type.data() + type.size(), bits);
  return bits / 8.0;
}

// The product of "8,128"; of nothing it is 1.
double Elements(std::string_view dimensions) {
  double product = 1;
  while (!dimensions.empty()) {
    const std::size_t at = dimensions.find_first_of("0123456789");
    if (at == std::string_view::npos) {
      break;
    }
    std::int64_t size = 1;
    const char* const end = dimensions.data() + dimensions.size();
    const auto [stop, error] = std::from_chars(dimensions.data() + at, end, size);
    product *= static_cast<double>(size);
    dimensions.remove_prefix(static_cast<std::size_t>(stop - dimensions.data()));
  }
  return product;
}

// The type before the bracket: letters and digits, beginning with a letter.
std::string_view TypeBefore(std::string_view shape, std::size_t bracket) {
  std::size_t begin = bracket;
  while (begin > 0 && std::isalnum(static_cast<unsigned char>(shape[begin - 1])) != 0) {
    --begin;
  }
  while (begin < bracket && IsDigit(shape[begin])) {
    ++begin;
  }
  return shape.substr(begin, bracket - begin);
}

XlaArguments ReadXlaArguments(std::string_view extra) {
  XlaArguments arguments;
  if (const auto picoseconds = JsonNumber(extra, "device_duration_ps")) {
    arguments.device_seconds = *picoseconds / 1e12;
  }
  arguments.model_flops = JsonNumber(extra, "model_flops");
  const auto raw = JsonNumber(extra, "raw_bytes_accessed");
  arguments.accessed_bytes = raw ? raw : JsonNumber(extra, "bytes_accessed");
  const double shape_bytes = ShapeBytes(JsonField(extra, "shape_with_layout").value_or(""));
  arguments.message_bytes = shape_bytes > 0 ? std::optional(shape_bytes) : arguments.accessed_bytes;
  arguments.hlo_category = JsonField(extra, "hlo_category").value_or("");
  return arguments;
}

}  // namespace

StringId ExtraOf(const Trace& trace, RowId activity) {
  const RowId shape = trace.activities.shape[activity];
  return shape == kNoRow ? trace.activities.extra[activity] : trace.launch_shapes.extra[shape];
}

const XlaArguments& XlaArgumentsMemo::operator()(StringId extra) {
  const auto known = arguments_of_extra_.find(extra);
  if (known != arguments_of_extra_.end()) {
    return known->second;
  }
  return arguments_of_extra_.emplace(extra, ReadXlaArguments(trace_.Text(extra))).first->second;
}

std::optional<double> WallMicroseconds(const Run& run) {
  std::optional<Interval> wall;
  for (const Trace& trace : run.set->ranks) {
    ForEachSlice(trace,
                 [&](const Slice& slice) { wall = wall ? Hull(*wall, slice.time) : slice.time; });
  }
  return wall ? std::optional(Microseconds(wall->length_ns())) : std::nullopt;
}

ModelFlops SumModelFlops(const Run& run) {
  ModelFlops flops;
  std::vector<Interval> busy;
  for (const Trace& trace : run.set->ranks) {
    XlaArgumentsMemo arguments_of(trace);
    ForEachSlice(trace, [&](const Slice& slice) {
      if (const auto& count = arguments_of(slice.extra).model_flops) {
        flops.model_flops += *count;
        busy.push_back(slice.time);
      }
    });
  }
  flops.busy_ns = IntervalSet::Of(busy).length_ns();
  return flops;
}

double ShapeBytes(std::string_view shape) {
  double bytes = 0;
  for (std::size_t open = shape.find('['); open != std::string_view::npos;
       open = shape.find('[', open + 1)) {
    const std::size_t close = std::min(shape.find(']', open), shape.size());
    bytes += ElementBytesOf(TypeBefore(shape, open)) *
             Elements(shape.substr(open + 1, close - open - 1));
  }
  return bytes;
}

}  // namespace orrery::compat::ccl_bench
