#include "orrery/ingest/kineto/salvage.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/ingest/json_repair.h"
#include "orrery/ingest/kineto/event_stream.h"
#include "orrery/ingest/kineto/window_parser.h"

namespace orrery::ingest::kineto {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// An event that has not ended after this much is taken for damage, not for a long event.
constexpr std::size_t kPatienceBytes = 16 << 20;
constexpr int kMaxDepth = 64;

// The position behind the object that begins at `at`, or kNone if the text ends before or the
// nesting is absurd.
std::size_t EndOfObject(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) {
        return kNone;
      }
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        return at + 1;
      }
    }
  }
  return kNone;
}

bool IsBetweenEvents(char c) {
  return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

bool Salvager::ReadEvent(std::string_view text) {
  Window window(text.size());
  std::memcpy(window.text(), text.data(), text.size());
  window.Close(text.size());
  if (parser_.Parse(window, chunk_).outcome == WindowParser::Outcome::kWhole) {
    return true;
  }
  JsonRepairs repairs;
  const std::string fixed = RepairJson(text, repairs);
  if (!repairs.any()) {
    return false;
  }
  Window second(fixed.size());
  std::memcpy(second.text(), fixed.data(), fixed.size());
  second.Close(fixed.size());
  if (parser_.Parse(second, chunk_).outcome != WindowParser::Outcome::kWhole) {
    return false;
  }
  repairs_ += repairs;
  return true;
}

void Salvager::Drop(std::int64_t offset, std::size_t bytes) {
  chunk_.rows.problems.Loss("event that is not valid JSON, left out", 1,
                            fmt::format("byte {}, {} bytes", offset, bytes));
}

Salvager::Outcome Salvager::Read(std::string_view text, std::int64_t offset, bool is_last) {
  std::size_t at = 0;
  while (true) {
    std::size_t num_commas = 0;
    for (; at < text.size() && IsBetweenEvents(text[at]); ++at) {
      num_commas += text[at] == ',' ? 1 : 0;
    }
    if (at == text.size()) {
      return {.used = at, .list_ended = false};
    }
    if (text[at] == ']') {
      if (num_commas > 0) {
        chunk_.rows.problems.Note("comma without a following event");
      }
      return {.used = at + 1, .list_ended = true};
    }
    const std::size_t end = text[at] == '{' ? EndOfObject(text, at) : kNone;
    if (end != kNone && ReadEvent(text.substr(at, end - at))) {
      at = end;
      continue;
    }
    if (end == kNone && !is_last && text.size() - at < kPatienceBytes) {
      return {.used = at, .list_ended = false};
    }
    const std::size_t next = FindBoundary(text, at + 1);
    if (next == kNone && end == kNone) {
      // Nothing more to find: what is left is the cut-off end of the file.
      return {.used = is_last ? at : text.size(), .list_ended = false};
    }
    const std::size_t resume = std::min(next, end);
    Drop(offset + static_cast<std::int64_t>(at), resume - at);
    at = resume;
  }
}

void Salvager::LogRepairs() {
  ingest::LogRepairs(repairs_, "", chunk_.rows.problems);
}

}  // namespace orrery::ingest::kineto
