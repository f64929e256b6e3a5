#include "orrery/trace/shape_text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/text/decimal.h"
#include "orrery/base/text/text.h"

namespace orrery::trace {
namespace {

// The product of "[4, 8]"; an empty shape is one element.
std::optional<std::int64_t> Product(const std::vector<std::string_view>& dims) {
  std::int64_t product = 1;
  for (const std::string_view dim : dims) {
    const auto size = ParseInteger(dim);
    if (!size || *size < 0 || __builtin_mul_overflow(product, *size, &product)) {
      return std::nullopt;
    }
  }
  return product;
}

}  // namespace

std::vector<std::string_view> ArrayItems(std::string_view array) {
  array = Trimmed(array);
  std::vector<std::string_view> items;
  if (array.size() < 2 || array.front() != '[' || array.back() != ']') {
    return items;
  }
  const std::string_view inside = array.substr(1, array.size() - 2);
  int depth = 0;
  bool in_string = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < inside.size(); ++at) {
    const char c = inside[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',' && depth == 0) {
      items.push_back(Trimmed(inside.substr(begin, at - begin)));
      begin = at + 1;
    } else {
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    }
  }
  const std::string_view last = Trimmed(inside.substr(begin));
  if (!last.empty() || !items.empty()) {
    items.push_back(last);
  }
  return items;
}

std::string_view Unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"'
             ? text.substr(1, text.size() - 2)
             : text;
}

std::optional<std::vector<std::int64_t>> IntegerItems(std::string_view array) {
  std::vector<std::int64_t> integers;
  for (const std::string_view item : ArrayItems(array)) {
    const auto integer = ParseInteger(item);
    if (!integer) {
      return std::nullopt;
    }
    integers.push_back(*integer);
  }
  return integers;
}

std::optional<std::int64_t> NumElements(std::string_view shape) {
  const auto items = ArrayItems(shape);
  if (items.empty()) {
    return std::nullopt;
  }
  if (!items.front().starts_with('[')) {
    return Product(items);
  }
  std::int64_t sum = 0;
  for (const std::string_view item : items) {
    const auto product = Product(ArrayItems(item));
    if (!product || __builtin_add_overflow(sum, *product, &sum)) {
      return std::nullopt;
    }
  }
  return sum;
}

}  // namespace orrery::trace
