#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/base/parallel.h"
#include "orrery/base/text.h"
#include "orrery/ingest/json_repair.h"
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

// Windows are reused: fresh memory would cost a page fault for every page of the file.
class WindowPool {
 public:
  explicit WindowPool(std::size_t window_bytes) : window_bytes_(window_bytes) {}

  std::unique_ptr<Window> Take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      return std::make_unique<Window>(window_bytes_);
    }
    auto window = std::move(free_.back());
    free_.pop_back();
    return window;
  }

  void Return(std::unique_ptr<Window> window) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(window));
  }

 private:
  std::size_t window_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Window>> free_;
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
Status RunPipeline(EventStream& stream, const PipelineOptions& options, bool has_several_ranks,
                   Collector& collector) {
  WindowPool pool(options.window_bytes);
  tbb::enumerable_thread_specific<WindowParser> parsers;
  std::optional<Error> error;
  const auto cut = [&](tbb::flow_control& control) -> std::shared_ptr<Work> {
    auto work = std::make_shared<Work>();
    work->window = pool.Take();
    const auto more = stream.Next(*work->window, work->separator);
    if (!more) {
      error = more.error();
    }
    if (!more || !*more) {
      control.stop();
      return nullptr;
    }
    return work;
  };
  const auto parse = [&](std::shared_ptr<Work> work) {
    work->chunk.has_several_ranks = has_several_ranks;
    work->parsed = parsers.local().Parse(*work->window, work->chunk);
    return work;
  };
  const auto collect = [&](const std::shared_ptr<Work>& work) {
    collector.Take(*work);
    pool.Return(std::move(work->window));
  };
  using Ptr = std::shared_ptr<Work>;
  tbb::task_arena arena(NumThreads(options.threads));
  arena.execute([&] {
    using enum tbb::filter_mode;
    tbb::parallel_pipeline(static_cast<std::size_t>(arena.max_concurrency()) + 1,
                           tbb::make_filter<void, Ptr>(serial_in_order, cut) &
                               tbb::make_filter<Ptr, Ptr>(parallel, parse) &
                               tbb::make_filter<Ptr, void>(serial_in_order, collect));
  });
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
  ORRERY_TRY_STATUS(RunPipeline(stream, options, assembler.has_several_ranks, collector));
  collector.Finish(stream.offset(), stream.damage());
  return Frame{.head = stream.head(), .tail = std::move(collector.tail)};
}

}  // namespace orrery::ingest::kineto
