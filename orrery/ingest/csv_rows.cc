#include "orrery/ingest/csv_rows.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {
namespace {

constexpr std::size_t kWindowBytes = 256 << 10;
constexpr std::size_t kMaxRowBytes = 16 << 20;
constexpr int kEnd = -1;

}  // namespace

Result<bool> CsvRows::ReadHeader() {
  ORRERY_TRY(const bool has_row, Next());
  columns_.assign(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(num_fields_));
  return has_row;
}

Result<bool> CsvRows::Next() {
  while (true) {
    ORRERY_TRY(const bool has_row, ReadRow());
    const bool is_empty = num_fields_ == 1 && fields_[0].empty();
    if (!has_row || !is_empty) {
      return has_row;
    }
  }
}

bool CsvRows::HasColumn(std::string_view column) const {
  return std::ranges::find(columns_, column) != columns_.end();
}

std::string_view CsvRows::Text(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  const auto index = static_cast<std::size_t>(found - columns_.begin());
  return found != columns_.end() && index < num_fields_ ? std::string_view(fields_[index])
                                                        : std::string_view();
}

std::optional<std::int64_t> CsvRows::Integer(std::string_view column) const {
  return DecimalOrHex(Text(column));
}

Result<int> CsvRows::Get() {
  if (position_ == window_.size()) {
    window_.assign(kWindowBytes, '\0');
    position_ = 0;
    ORRERY_TRY(const std::size_t count, ReadFully(*source_, window_));
    window_.resize(count);
  }
  return window_.empty() ? kEnd : static_cast<unsigned char>(window_[position_++]);
}

// Fields keep their memory from row to row.
void CsvRows::BeginField() {
  if (fields_.size() == num_fields_) {
    fields_.emplace_back();
  }
  fields_[num_fields_++].clear();
}

Result<bool> CsvRows::ReadRow() {
  line_ = next_line_;
  num_fields_ = 0;
  is_quoted_ = false;
  std::size_t num_bytes = 0;
  while (true) {
    ORRERY_TRY(const int byte, Get());
    if (byte == kEnd) {
      return num_bytes > 0;
    }
    if (++num_bytes > kMaxRowBytes) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("line {}: a row of more than {} MiB", line_, kMaxRowBytes >> 20));
    }
    if (num_fields_ == 0) {
      BeginField();
    }
    next_line_ += byte == '\n' ? 1 : 0;
    if (byte == '\n' && !is_quoted_) {
      return true;
    }
    Take(static_cast<char>(byte));
  }
}

void CsvRows::Take(char byte) {
  std::string& field = fields_[num_fields_ - 1];
  if (byte == '"') {
    is_quoted_ = !is_quoted_;
    // A doubled quote closes and opens again: one of the two is text.
    field += is_quoted_ && !field.empty() ? "\"" : "";
  } else if (byte == ',' && !is_quoted_) {
    BeginField();
  } else if (byte != '\r') {
    field += byte;
  }
}

std::optional<std::int64_t> DecimalOrHex(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  text.remove_prefix(is_hex ? 2 : 0);
  std::int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  const bool is_whole = error == std::errc() && stop == text.data() + text.size() && !text.empty();
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace orrery::ingest
