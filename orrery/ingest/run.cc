#include "orrery/ingest/run.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/folder.h"
#include "orrery/base/row_numbers.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/manifest.h"
#include "orrery/ingest/rank_names.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/graph_link.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest {
namespace {

std::string NotYet(std::string_view name) {
  return fmt::format("this is {}, which this version of Orrery does not read yet", name);
}

std::string DescribeJson(std::string_view head) {
  if (Contains(head, "\"workload_graph\"")) {
    return NotYet("a Chakra trace as JSON");
  }
  if (Contains(head, "\"segments\"") && Contains(head, "\"device_traces\"")) {
    return "this is a memory snapshot of PyTorch as JSON: give Orrery the pickle it was made from";
  }
  return "this is JSON, but neither a Kineto trace (no \"traceEvents\") nor a PyTorch execution "
         "trace (no \"schema\" and \"nodes\")";
}

// A database that was cut has lost the pages that say which tables it has.
std::string DescribeDatabase(const InputFile& file) {
  const auto database = SqliteDatabase::Open(file);
  std::string damage = database ? database->damage() : database.error().message();
  if (damage.starts_with(file.path() + ": ")) {
    damage.erase(0, file.path().size() + 2);
  }
  if (!damage.empty()) {
    return fmt::format(
        "this is an SQLite database that is truncated or damaged ({}): export or copy it again",
        damage);
  }
  return "this is an SQLite database, but neither an export of Nsight Systems (no "
         "CUPTI_ACTIVITY_KIND_* table and no META_DATA_EXPORT) nor one of rocprofv3 (no rocpd_* "
         "table)";
}

// Describes a file that no format matches: what it seems to be and what to do.
std::string DescribeUnsupportedFile(const InputFile& file) {
  const std::string_view head = file.head();
  if (head.empty()) {
    return "the file is empty";
  }
  if (head.starts_with("SQLite format 3")) {
    return DescribeDatabase(file);
  }
  const bool is_tar = head.size() > 262 && head.substr(257, 5) == "ustar";
  if (is_tar || head.starts_with("PK\x03\x04")) {
    return fmt::format("this is a {} archive: unpack it and give Orrery the folder",
                       is_tar ? "tar" : "zip");
  }
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  if (first == std::string_view::npos) {
    return "the file contains only whitespace";
  }
  if (head[first] == '{' || head[first] == '[') {
    return DescribeJson(head);
  }
  const bool is_text = std::ranges::none_of(head, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  // Protobuf messages in a row, each after its length, the first one with string fields only.
  if (!is_text && (Contains(head, "is_cpu_op") || Contains(head, "comm_type") ||
                   Contains(head, "schema\xea"))) {
    return NotYet("a Chakra execution trace");
  }
  if (Contains(head, "\"ID\",\"Process ID\"") ||
      Contains(head, "\"Process ID\",\"Kernel Name\",\"Invocations\"")) {
    return NotYet("a CSV table of Nsight Compute");
  }
  return "Orrery does not recognise this file; it reads Kineto JSON, PyTorch execution traces, "
         "Nsight Systems SQLite exports, XPlane recordings, rocprofv3 tables, memory snapshots and "
         "timelines of PyTorch, NVBit's mem_trace, nccl-tests logs, NVLink counters, benchmark "
         "results, workload cards, .orr and .orrs files";
}

namespace fs = std::filesystem;

struct Candidate {
  std::string path;
  bool was_named = false;           // by the user, not found in a folder
  std::optional<Error> error = {};  // of a folder that cannot be listed
};

// A folder below that cannot be listed is kept with its error, as a file that cannot be read.
Status AddFolder(const std::string& folder, std::vector<Candidate>& files) {
  std::vector<UnlistedFolder> unlisted;
  ORRERY_TRY(std::vector<std::string> paths, FilesBelow(folder, &unlisted));
  std::vector<Candidate> found;
  for (std::string& path : paths) {
    if (!fs::path(path).filename().string().starts_with('.')) {
      found.push_back({.path = std::move(path)});
    }
  }
  for (UnlistedFolder& below : unlisted) {
    found.push_back({.path = std::move(below.path), .error = std::move(below.error)});
  }
  std::ranges::sort(found, {}, &Candidate::path);
  std::ranges::move(found, std::back_inserter(files));
  return {};
}

Result<std::vector<Candidate>> FindFiles(const std::vector<std::string>& paths) {
  std::vector<Candidate> files;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      return Fail(Error::Kind::kNotFound, fmt::format("{}: no such file or folder", path));
    }
    if (!fs::is_directory(status)) {
      files.push_back({.path = path, .was_named = true});
      continue;
    }
    const std::size_t before = files.size();
    ORRERY_TRY_STATUS(AddFolder(path, files));
    if (files.size() == before) {
      return Fail(Error::Kind::kNotFound, fmt::format("{}: the folder holds no files", path));
    }
  }
  return files;
}

// The content of a file: data, or a manifest of other files.
struct ReadContent {
  FileContent content = {};
  std::optional<RunManifest> manifest = {};
};

Result<ReadContent> ReadFile(const Candidate& candidate, const ReadOptions& options) {
  const std::string& path = candidate.path;
  if (candidate.error) {
    return tl::unexpected(*candidate.error);
  }
  if (!candidate.was_named && IsUnfinishedFile(fs::path(path).filename().string())) {
    return Fail(Error::Kind::kUnsupported,
                "a program that was killed left this unfinished file; delete it");
  }
  ORRERY_TRY(const InputFile file, InputFile::Open(path, options.unpack));
  if (IsManifest(file)) {
    ORRERY_TRY(RunManifest manifest, ReadManifest(file));
    return ReadContent{.content = {}, .manifest = std::move(manifest)};
  }
  for (const Format* format : KnownFormats()) {
    if (format->matches(file)) {
      ORRERY_TRY(FileContent content, format->Read(file, options));
      return ReadContent{.content = std::move(content)};
    }
  }
  return Fail(Error::Kind::kUnsupported,
              fmt::format("{}: {}", path, DescribeUnsupportedFile(file)));
}

// Execution traces that were merged with Kineto have activities, but never operators of their own.
bool IsGraph(const trace::Trace& trace) {
  return !trace.graph_nodes.empty() && trace.host_ops.empty();
}

// Gives traces without a rank the one in their file's name. Several traces of one file are numbered
// in order. Returns whether a rank is but a number at the end of a name.
bool NameRanks(std::vector<trace::Trace>& traces) {
  const bool is_alone = traces.size() == 1;
  bool is_guess = false;
  std::int32_t next = 0;
  for (trace::Trace& trace : traces) {
    if (trace.info.rank >= 0) {
      continue;
    }
    const auto in_name = is_alone && !trace.info.files.empty()
                             ? RankInFileName(trace.info.files.front())
                             : std::optional<std::int32_t>(next++);
    is_guess = is_alone && in_name && !NamesRankByWord(trace.info.files.front());
    trace.info.rank = in_name.value_or(0);
  }
  return is_guess;
}

// Joins the traces of a rank: a Kineto trace and an execution trace become one.
class RankJoiner {
 public:
  Status Add(trace::Trace trace) {
    const auto same_rank = std::ranges::find(ranks_, trace.info.rank, RankOf);
    if (same_rank == ranks_.end()) {
      ranks_.push_back(std::move(trace));
      return {};
    }
    if (IsGraph(*same_rank)) {
      std::swap(*same_rank, trace);
    }
    // A rank consists of a recording and a graph, not of two of one kind.
    if (IsGraph(*same_rank) || !IsGraph(trace) || !same_rank->graph_nodes.empty()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{} and {} both claim rank {}: give Orrery the files of one run only",
                              fmt::join(same_rank->info.files, ", "),
                              fmt::join(trace.info.files, ", "), trace.info.rank));
    }
    trace::LinkGraph(*same_rank, std::move(trace));
    return {};
  }

  std::vector<trace::Trace> Take() {
    std::ranges::stable_sort(ranks_, {}, RankOf);
    return std::move(ranks_);
  }

 private:
  static std::int32_t RankOf(const trace::Trace& trace) { return trace.info.rank; }

  std::vector<trace::Trace> ranks_;
};

std::vector<RowId> RowsFrom(std::size_t first_row, std::size_t count) {
  std::vector<RowId> rows(count);
  std::iota(rows.begin(), rows.end(), static_cast<RowId>(first_row));
  return rows;
}

// A stream that both know is one track.
std::vector<RowId> JoinTracks(trace::Trace& into, const trace::Trace& part,
                              std::span<const StringId> strings) {
  const auto key = [](const trace::Tracks& tracks, RowId row) {
    return std::tuple(tracks.kind[row], tracks.process[row], tracks.thread[row],
                      tracks.device[row]);
  };
  std::map<decltype(key(into.tracks, 0)), RowId> known;
  for (RowId row = 0; row < into.tracks.size(); ++row) {
    known.try_emplace(key(into.tracks, row), row);
  }
  std::vector<RowId> row_of_track;
  for (RowId row = 0; row < part.tracks.size(); ++row) {
    const auto [found, is_new] = known.try_emplace(key(part.tracks, row), kNoRow);
    if (is_new) {
      trace::Tracks::Row track = part.tracks.At(row);
      track.name = strings[static_cast<std::size_t>(track.name)];
      track.process_name = strings[static_cast<std::size_t>(track.process_name)];
      found->second = into.tracks.Append(track);
    }
    row_of_track.push_back(found->second);
  }
  return row_of_track;
}

// Appends the rows of a part. Links that are not set before FinishTrace stay unset.
void AppendPart(trace::Trace& into, const trace::Trace& part) {
  const std::vector<StringId> strings = into.strings.Merge(part.strings);
  const std::vector<RowId> tracks = JoinTracks(into, part, strings);
  const std::vector<RowId> shapes = RowsFrom(into.launch_shapes.size(), part.launch_shapes.size());
  const std::size_t num_objects = into.memory_objects.size();
  const auto append = [&](auto& table, const auto& from) {
    const std::size_t before = table.size();
    AppendRows(table, from, strings);
    if constexpr (requires { table.track; }) {
      Renumber(table.track, tracks, before);
    }
    if constexpr (requires { table.shape; }) {
      Renumber(table.shape, shapes, before);
    }
  };
  append(into.metadata, part.metadata);
  append(into.devices, part.devices);
  append(into.launch_shapes, part.launch_shapes);
  append(into.activities, part.activities);
  append(into.runtime_calls, part.runtime_calls);
  append(into.annotations, part.annotations);
  append(into.memory_events, part.memory_events);
  append(into.instants, part.instants);
  append(into.memory_objects, part.memory_objects);
  Renumber(into.memory_objects.parent, RowsFrom(num_objects, part.memory_objects.size()),
           num_objects);
  into.problems.Merge(part.problems, part.info.files.empty() ? "" : part.info.files.front());
  into.info.files.insert(into.info.files.end(), part.info.files.begin(), part.info.files.end());
}

// Joins recordings that a tool writes as several files.
class PartJoiner {
 public:
  // Takes the trace of a content with a `part`.
  void Add(FileContent content) {
    for (trace::Trace& trace : content.traces) {
      const auto [known, is_new] = recording_of_name_.try_emplace(content.part->recording);
      if (is_new) {
        known->second = {std::move(trace), *content.part};
      } else {
        AppendPart(known->second.first, trace);
      }
    }
  }

  // Completes the recordings, in order of their names. Several without a rank are several
  // processes of one run and get the numbers that no name has, in this order.
  std::vector<trace::Trace> Take(const ReadOptions& options) {
    std::set<std::int32_t> taken;
    for (const auto& [name, recording] : recording_of_name_) {
      if (const auto in_name = RankInFileName(recording.first.info.files.front())) {
        taken.insert(*in_name);
      }
    }
    std::vector<trace::Trace> traces;
    std::int32_t next = 0;
    for (auto& [name, recording] : recording_of_name_) {
      auto& [trace, part] = recording;
      part.complete(trace, options);
      const auto in_name = RankInFileName(trace.info.files.front());
      while (!in_name && !taken.insert(next).second) {
        ++next;
      }
      trace.info.rank = in_name.value_or(next);
      traces.push_back(std::move(trace));
    }
    return traces;
  }

 private:
  std::map<std::string, std::pair<trace::Trace, Part>> recording_of_name_;
};

// Combines the contents of files, in the order of the files.
class RunBuilder {
 public:
  Status Add(const Candidate& file, Result<ReadContent>& read) {
    manifests_.Found(file.path);
    if (!read) {
      if (file.was_named) {
        return tl::unexpected(read.error());
      }
      return Skip(file, read.error());
    }
    if (read->manifest) {
      manifests_.Add(file.path, *read->manifest);
      return {};
    }
    return Add(file, read->content);
  }

  Result<Run> Finish(const std::vector<std::string>& paths, const ReadOptions& options) {
    for (trace::Trace& trace : parts_.Take(options)) {
      ORRERY_TRY_STATUS(ranks_.Add(std::move(trace)));
    }
    run_.set.ranks = ranks_.Take();
    ForgetLoneNumber();
    manifests_.NoteMissing(run_.set.problems);
    if (run_.set.ranks.empty() && run_.tables.empty() && !run_.set.card) {
      return Fail(Error::Kind::kNotFound, fmt::format("{}: nothing here that Orrery reads{}",
                                                      paths.empty() ? "" : paths.front(), Why()));
    }
    return std::move(run_);
  }

 private:
  // The number at the end of a name tells files of a run apart; of a lone one it may mean anything.
  void ForgetLoneNumber() {
    if (has_guessed_rank_ && run_.set.ranks.size() == 1 &&
        run_.set.ranks.front().info.files.size() == 1) {
      run_.set.ranks.front().info.rank = 0;
    }
  }

  Status Add(const Candidate& file, FileContent& content) {
    run_.set.problems.Merge(content.problems, file.path);
    if (content.card) {
      if (run_.set.card) {
        run_.set.problems.Note("more than one workload card, the first is used", 1, file.path);
      } else {
        run_.set.card = std::move(content.card);
      }
    }
    for (MeasurementTable& table : content.tables) {
      run_.tables.push_back(std::move(table));
    }
    if (content.part) {
      parts_.Add(std::move(content));
      return {};
    }
    has_guessed_rank_ = NameRanks(content.traces) || has_guessed_rank_;
    for (trace::Trace& trace : content.traces) {
      ORRERY_TRY_STATUS(ranks_.Add(std::move(trace)));
    }
    return {};
  }

  Status Skip(const Candidate& file, const Error& error) {
    std::string why = error.message();
    if (why.starts_with(file.path + ": ")) {
      why.erase(0, file.path.size() + 2);
    }
    // A file of an unknown format is no loss; a damaged one of a known format is.
    if (error.kind() != Error::Kind::kUnsupported) {
      run_.set.problems.Loss(
          file.error ? "folder that could not be read" : "file that could not be read", 1,
          file.path + ": " + why);
    }
    run_.skipped.push_back({.file = file.path, .why = std::move(why)});
    return {};
  }

  // The first problem of a run without any content.
  [[nodiscard]] std::string Why() const {
    if (!run_.set.problems.all().empty()) {
      const trace::Problem& problem = run_.set.problems.all().front();
      return fmt::format(" ({}: {})", problem.what, problem.first);
    }
    if (run_.skipped.empty()) {
      return {};
    }
    const SkippedFile& first = run_.skipped.front();
    return fmt::format(" ({} files skipped; the first: {}: {})", run_.skipped.size(), first.file,
                       first.why);
  }

  Run run_;
  PartJoiner parts_;
  RankJoiner ranks_;
  ManifestCheck manifests_;
  bool has_guessed_rank_ = false;
};

}  // namespace

bool Run::is_partial() const {
  const auto lossy = [](const auto& part) { return part.problems.has_loss(); };
  return set.problems.has_loss() || std::ranges::any_of(set.ranks, lossy) ||
         std::ranges::any_of(tables, lossy);
}

Result<Run> ReadRun(const std::vector<std::string>& paths, const RunOptions& options) {
  ORRERY_TRY(const std::vector<Candidate> files, FindFiles(paths));
  std::vector<Result<ReadContent>> contents(files.size());
  std::atomic<std::size_t> done = 0;
  ParallelFor(files.size(), options.read.threads, [&](std::size_t i) {
    contents[i] = ReadFile(files[i], options.read);
    const std::size_t now_done = ++done;
    if (options.progress) {
      options.progress(now_done, files.size(), files[i].path);
    }
  });
  RunBuilder builder;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ORRERY_TRY_STATUS(builder.Add(files[i], contents[i]));
    contents[i] = ReadContent();
  }
  return builder.Finish(paths, options.read);
}

}  // namespace orrery::ingest
