#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/json/json_repair.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_stream.h"
#include "orrery/ingest/kineto/window_parser.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::kineto {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// A longer event is treated as damage.
constexpr std::size_t kPatienceBytes = 16 << 20;
constexpr int kMaxDepth = 64;

// The position after the object that begins at `at`, or kNone if the text ends before or the
// nesting is implausible.
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

// Reads events one by one from text that could not be parsed as a whole: keeps the valid ones,
// fixes what can be fixed (control characters, invalid UTF-8, NaN …), drops what cannot and goes
// on at the next place where an event seems to begin.
class Salvager {
 public:
  struct Outcome {
    std::size_t used = 0;     // bytes consumed; the rest needs more text
    bool list_ended = false;  // `used` is after the list's `]`
  };

  // `offset` is where `text` stands in the file. Unless `is_last`, an event that does not end in
  // `text` is left for the next call.
  Outcome Read(std::string_view text, std::int64_t offset, bool is_last) {
    std::size_t at = 0;
    while (true) {
      const std::size_t begin = std::min(text.find_first_not_of(", \n\r\t", at), text.size());
      const bool has_comma = Contains(text.substr(at, begin - at), ",");
      at = begin;
      if (at == text.size()) {
        return {.used = at};
      }
      if (text[at] == ']') {
        chunk.rows.problems.Note("comma without a following event", has_comma ? 1 : 0);
        return {.used = at + 1, .list_ended = true};
      }
      const std::size_t end = text[at] == '{' ? EndOfObject(text, at) : kNone;
      if (end != kNone && ReadEvent(text.substr(at, end - at))) {
        at = end;
        continue;
      }
      if (end == kNone && !is_last && text.size() - at < kPatienceBytes) {
        return {.used = at};
      }
      const std::size_t next = FindBoundary(text, at + 1);
      if (next == kNone && end == kNone) {
        // Nothing more to find: what is left is the cut-off end of the file.
        return {.used = is_last ? at : text.size()};
      }
      const std::size_t resume = std::min(next, end);
      chunk.rows.problems.Loss(
          "event that is not valid JSON, skipped", 1,
          fmt::format("byte {}, {} bytes", offset + static_cast<std::int64_t>(at), resume - at));
      at = resume;
    }
  }

  Chunk chunk;  // the rows so far
  JsonRepairs repairs;

 private:
  bool Parse(std::string_view text) {
    Window window(text);
    return parser_.Parse(window, chunk).outcome == WindowParser::Outcome::kWhole;
  }

  bool ReadEvent(std::string_view text) {
    if (Parse(text)) {
      return true;
    }
    JsonRepairs made;
    const std::string fixed = RepairJson(text, made);
    if (!made.any() || !Parse(fixed)) {
      return false;
    }
    repairs += made;
    return true;
  }

  WindowParser parser_;
};

// A window on its way through the pipeline.
struct Work {
  std::unique_ptr<Window> window;
  std::string separator;
  WindowParser::Parsed parsed;
  Chunk chunk;
};

// Windows and parsers are reused: fresh memory would cost a page fault for every page of the file.
template <typename T>
class Pool {
 public:
  explicit Pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  std::unique_ptr<T> Take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      return make_();
    }
    auto taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }

  void Return(std::unique_ptr<T> taken) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(taken));
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

// The last stage: takes windows in the order of the file.
class Collector {
 public:
  explicit Collector(Assembler& assembler) : assembler_(assembler) {}

  void Take(const Work& work) {
    const std::string_view text = work.window->view();
    if (list_ended_) {
      tail += text;
      tail += work.separator;
      return;
    }
    if (pending_.empty() && work.parsed.outcome == WindowParser::Outcome::kWhole) {
      assembler_.Add(work.chunk);
      return;
    }
    if (pending_.empty() && work.parsed.outcome == WindowParser::Outcome::kListEnds) {
      assembler_.Add(work.chunk);
      list_ended_ = true;
      tail = std::string(text.substr(work.parsed.list_end + 1)) + work.separator;
      return;
    }
    if (pending_.empty()) {
      pending_offset_ = work.window->offset;
    }
    pending_ += text;
    pending_ += work.separator;
    Salvage(false);
  }

  // At the end of the file; `end` is its length and `damage` what its compression says.
  void Finish(std::int64_t end, const std::string& damage) {
    if (!pending_.empty()) {
      Salvage(true);
    }
    trace::ProblemLog& problems = assembler_.trace.problems;
    const std::string kept = fmt::format("byte {}, {} events kept", end, assembler_.num_events);
    if (!damage.empty()) {
      problems.Loss("compressed file that ends early or is damaged", 1,
                    fmt::format("{}; {}", damage, kept));
    }
    if (!list_ended_ && !pending_.empty()) {
      problems.Loss("truncated JSON", 1, kept);
    } else if (!list_ended_) {
      problems.Loss("closed early: the list of events has no end", 1, kept);
    }
  }

  std::string tail;  // the text after the list

 private:
  void Salvage(bool is_last) {
    Salvager salvager;
    salvager.chunk.has_several_ranks = assembler_.has_several_ranks;
    const Salvager::Outcome outcome = salvager.Read(pending_, pending_offset_, is_last);
    LogRepairs(salvager.repairs, "", salvager.chunk.rows.problems);
    assembler_.Add(salvager.chunk);
    pending_offset_ += static_cast<std::int64_t>(outcome.used);
    pending_.erase(0, outcome.used);
    list_ended_ = outcome.list_ended;
    if (list_ended_) {
      tail = std::exchange(pending_, {});
    }
  }

  Assembler& assembler_;
  std::string pending_;  // text that waits for its continuation
  std::int64_t pending_offset_ = 0;
  bool list_ended_ = false;
};

// One thread cuts windows, others parse them, and `collector` takes them in order.
Status RunStages(EventStream& stream, const PipelineOptions& options, bool has_several_ranks,
                 Collector& collector) {
  Pool<Window> windows([&] { return std::make_unique<Window>(options.window_bytes); });
  Pool<WindowParser> parsers([] { return std::make_unique<WindowParser>(); });
  std::optional<Error> error;
  const auto cut = [&]() -> std::shared_ptr<Work> {
    auto work = std::make_shared<Work>();
    work->window = windows.Take();
    const auto more = stream.Next(*work->window, work->separator);
    if (!more) {
      error = more.error();
    }
    return more && *more ? work : nullptr;
  };
  const auto parse = [&](void* piece) {
    auto& work = *static_cast<Work*>(piece);
    work.chunk.has_several_ranks = has_several_ranks;
    auto parser = parsers.Take();
    work.parsed = parser->Parse(*work.window, work.chunk);
    parsers.Return(std::move(parser));
  };
  const auto collect = [&](void* piece) {
    auto& work = *static_cast<Work*>(piece);
    collector.Take(work);
    windows.Return(std::move(work.window));
  };
  RunPipeline(options.threads, {.next = cut, .work = parse, .collect = collect});
  return error ? Status(tl::unexpected(*error)) : Status();
}

}  // namespace

Result<Frame> ReadEvents(std::unique_ptr<ByteSource> source, const PipelineOptions& options,
                         Assembler& assembler) {
  EventStream stream(std::move(source), options.window_bytes);
  ORRERY_TRY(const bool has_list, stream.FindList());
  if (!has_list) {
    assembler.trace.problems.Loss(
        "truncated JSON", 1,
        fmt::format("byte {}, before the list of events{}{}", stream.offset(),
                    stream.damage().empty() ? "" : "; ", stream.damage()));
    return Frame{.head = stream.head(), .tail = {}};
  }
  assembler.has_several_ranks = Contains(stream.head(), "\"orreryRanks\"");
  Collector collector(assembler);
  ORRERY_TRY_STATUS(RunStages(stream, options, assembler.has_several_ranks, collector));
  collector.Finish(stream.offset(), stream.damage());
  return Frame{.head = stream.head(), .tail = std::move(collector.tail)};
}

}  // namespace orrery::ingest::kineto
