#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"

namespace orrery::ingest::nvbit_mem_trace {

/// Calls `visit(line, number)` for each line, without its end, numbered from 1. A line longer than
/// a window of 1 MiB comes in pieces.
template <typename Visit>
Status ForEachLine(ByteSource& source, Visit visit) {
  constexpr std::size_t kWindowBytes = 1 << 20;
  std::string window;
  std::int64_t number = 0;
  while (true) {
    const std::size_t kept = window.size();
    window.resize(std::max(kWindowBytes, kept + 1));
    auto count = ReadFully(source, std::span(window).subspan(kept));
    if (!count) {
      return tl::unexpected(std::move(count).error());
    }
    window.resize(kept + *count);
    std::size_t begin = 0;
    for (std::size_t end = window.find('\n'); end != std::string::npos;
         end = window.find('\n', begin)) {
      visit(std::string_view(window).substr(begin, end - begin), ++number);
      begin = end + 1;
    }
    window.erase(0, begin);
    const bool is_end = *count == 0;
    if (!window.empty() && (is_end || window.size() >= kWindowBytes)) {
      visit(std::string_view(window), ++number);
      window.clear();
    }
    if (is_end) {
      return {};
    }
  }
}

}  // namespace orrery::ingest::nvbit_mem_trace
