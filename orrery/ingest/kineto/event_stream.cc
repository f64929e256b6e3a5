#include "orrery/ingest/kineto/event_stream.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/kineto/window_parser.h"

namespace orrery::ingest::kineto {
namespace {

constexpr std::size_t kMaxHeadBytes = 256 << 20;
constexpr std::size_t kMaxEventBytes = 256 << 20;

constexpr std::string_view kSpace = " \n\r\t";

std::size_t SkipSpace(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kSpace, at), text.size());
}

// The position after the string that begins at `at`; npos if it does not end.
std::size_t SkipString(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Is text[brace] == '{' after `},` with any space? Returns the position of the `}` or npos.
std::size_t EndBefore(std::string_view text, std::size_t brace) {
  const std::size_t comma = text.substr(0, brace).find_last_not_of(kSpace);
  if (comma == std::string_view::npos || text[comma] != ',') {
    return std::string_view::npos;
  }
  const std::size_t end = text.substr(0, comma).find_last_not_of(kSpace);
  return end != std::string_view::npos && text[end] == '}' ? end : std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> FindEventList(std::string_view text) {
  std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  at = SkipSpace(text, at);
  if (at < text.size() && text[at] == '[') {
    return at + 1;
  }
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = SkipString(text, at);
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      if (depth == 1 && text.substr(at, end - at) == "\"traceEvents\"") {
        const std::size_t colon = SkipSpace(text, end);
        const std::size_t list = SkipSpace(text, std::min(colon + 1, text.size()));
        if (text.substr(colon, 1) == ":" && text.substr(list, 1) == "[") {
          return list + 1;
        }
      }
      at = end;
      continue;
    }
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    ++at;
  }
  return std::nullopt;
}

std::size_t FindLastBoundary(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const auto* const brace = static_cast<const char*>(memrchr(text.data(), '{', end));
    if (brace == nullptr) {
      return 0;
    }
    end = static_cast<std::size_t>(brace - text.data());
    if (EndBefore(text, end) != std::string_view::npos) {
      return end;
    }
  }
  return 0;
}

std::size_t FindBoundary(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != std::string_view::npos;
       at = text.find('{', at + 1)) {
    if (EndBefore(text, at) != std::string_view::npos) {
      return at;
    }
  }
  return std::string_view::npos;
}

EventStream::EventStream(std::unique_ptr<ByteSource> source, std::size_t window_bytes)
    : source_(std::move(source)), window_bytes_(window_bytes) {}

Result<bool> EventStream::FindList() {
  std::string text;
  std::size_t step = 64 << 10;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + step);
    ORRERY_TRY(const std::size_t count, ReadFully(*source_, std::span(text).subspan(before)));
    text.resize(before + count);
    if (const auto list = FindEventList(text)) {
      carried_ = text.substr(*list);
      text.resize(*list);
      head_ = std::move(text);
      offset_ = static_cast<std::int64_t>(head_.size());
      return true;
    }
    if (count < step) {
      offset_ = static_cast<std::int64_t>(text.size());
      head_ = std::move(text);
      return false;
    }
    if (text.size() > kMaxHeadBytes) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("no list of events in the first {} bytes", kMaxHeadBytes));
    }
    step = text.size();
  }
}

Result<bool> EventStream::Next(Window& window, std::string& separator) {
  separator.clear();
  std::size_t filled = carried_.size();
  if (window.capacity() < std::max(window_bytes_, filled)) {
    window.Grow(std::max(window_bytes_, filled));
  }
  std::memcpy(window.text(), carried_.data(), filled);
  carried_.clear();
  window.offset = offset_;
  while (true) {
    if (!ended_) {
      const std::span<char> room(window.text() + filled, window.capacity() - filled);
      ORRERY_TRY(const std::size_t count, ReadFully(*source_, room));
      filled += count;
      ended_ = count < room.size();
    }
    if (ended_) {
      window.Close(filled);
      offset_ += static_cast<std::int64_t>(filled);
      return filled > 0;
    }
    const std::string_view text(window.text(), filled);
    if (const std::size_t next = FindLastBoundary(text); next > 0) {
      const std::size_t end = EndBefore(text, next) + 1;
      separator = text.substr(end, next - end);
      carried_ = text.substr(next);
      window.Close(end);
      offset_ += static_cast<std::int64_t>(next);
      return true;
    }
    if (filled >= kMaxEventBytes) {
      return Fail(Error::Kind::kLimit, fmt::format("byte {}: one event is longer than {} bytes",
                                                   offset_, kMaxEventBytes));
    }
    window.Grow(2 * window.capacity());
  }
}

}  // namespace orrery::ingest::kineto
