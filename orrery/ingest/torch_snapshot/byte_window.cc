#include "orrery/ingest/torch_snapshot/byte_window.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/core.h>

namespace orrery::ingest::torch_snapshot {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

Result<std::string_view> ByteWindow::Take(std::size_t count) {
  if (window_.size() - begin_ < count) {
    ORRERY_TRY_STATUS(Fill(count));
  }
  const std::string_view taken = std::string_view(window_).substr(begin_, count);
  begin_ += count;
  offset_ += static_cast<std::int64_t>(count);
  return taken;
}

// A length that the file claims becomes memory only as far as the file has the bytes.
Status ByteWindow::Fill(std::size_t count) {
  window_.erase(0, begin_);
  begin_ = 0;
  while (window_.size() < count) {
    const std::size_t before = window_.size();
    window_.resize(before + kReadBytes);
    auto got = ReadFully(*source_, std::span(window_).subspan(before));
    if (!got) {
      return tl::unexpected(std::move(got).error());
    }
    window_.resize(before + *got);
    if (*got == 0) {
      return Fail(Error::Kind::kInvalidInput, fmt::format("byte {}: the file ends early", offset_));
    }
  }
  return {};
}

}  // namespace orrery::ingest::torch_snapshot
