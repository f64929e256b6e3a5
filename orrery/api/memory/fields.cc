#include "orrery/api/fields.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/memory.h"
#include "orrery/api/memory/tool.h"

namespace orrery::api {
namespace {

using Request = MemoryRequest;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kTebibyte = 1LL << 40;

constexpr auto kWindowUnits = std::to_array<std::string_view>({"accesses", "launches", "ns"});
constexpr auto kAxes = std::to_array<std::string_view>({"event", "operator", "time"});
constexpr auto kStacks = std::to_array<std::string_view>({"category", "operator"});
constexpr auto kAlignments = std::to_array<std::string_view>({"event", "operator", "progress"});
constexpr auto kCosts = std::to_array<std::string_view>({"measured", "published"});

// In the order of --help.
constexpr auto kSources = std::to_array<Field<Request>>({
    MakeField<&Request::paper>(
        "paper", "", "all tools on each recording in a folder: the tables and figures of PASTA"),
    MakeField<&Request::tool>("tool", "", "one of the tools below"),
    MakeField<&Request::times>(
        "times", "",
        "another run of the same program, recorded with times (orrery capture without --accesses, "
        "Kineto, nsys), which the launches of PATH take over; for several recordings one for all "
        "or one for each; for --paper a folder with the same names")
        .Repeats(),
    MakeField<&Request::rank>("rank", "", "only this rank"),
    MakeField<&Request::top>("top", "", "how many rows of a long list")
        .ShowsDefault()
        .Range(1, kUnlimited),
    MakeField<&Request::whole>(
        "whole", "",
        "read a large stream at once, for all lists; takes eight times its size in memory"),
    MakeField<&Request::piece>("piece", "bytes",
                               "read a stream in pieces of about so many bytes, whatever its size")
        .Range(1, kTebibyte),
});

constexpr auto kOfTools = std::to_array<Field<Request>>({
    MakeField<&Request::page>("page", "", "smallest page of the page level, in bytes")
        .ShowsDefault()
        .Range(32, 1 << 30),
    MakeField<&Request::block>("block", "", "bytes of a row of the map")
        .ShowsDefault()
        .Range(32, kTebibyte),
    MakeField<&Request::window>(
        "window", "",
        "length of a column of the map (default: a million, and twice as long until the map is "
        "small)")
        .Range(1, 1LL << 60),
    MakeField<&Request::window_by>("window_by", "", "what windows count (default: accesses)")
        .Choices(kWindowUnits),
    MakeField<&Request::by>("by", "", "what memory is drawn against (time)").Choices(kAxes),
    MakeField<&Request::stack>("stack", "",
                               "what columns are divided by: what memory is for, or the operator "
                               "that allocated it (category)")
        .Choices(kStacks),
    MakeField<&Request::align>(
        "align", "",
        "two files are two recordings to compare, by the share of their steps, by operators or "
        "change by change; otherwise files are ranks of one run")
        .Choices(kAlignments),
    MakeField<&Request::all_points>("all_points", "",
                                    "every change in the table curve, not only those that are "
                                    "drawn"),
    MakeField<&Request::min_bytes>("min_bytes", "", "leave smaller objects out")
        .ShowsDefault()
        .Range(0, kUnlimited),
    MakeField<&Request::idle_launches>(
        "idle_launches", "", "idle: accesses more than so many launches, memcpys and memsets apart")
        .ShowsDefault()
        .Range(0, kUnlimited),
    MakeField<&Request::leak_steps>("leak_steps", "",
                                    "leak: not accessed during the last so many steps")
        .ShowsDefault()
        .Range(1, kUnlimited),
    MakeField<&Request::similar>("similar", "",
                                 "redundant: at most so many percent smaller than the idle object")
        .ShowsDefault()
        .Range(0, 1000),
    MakeField<&Request::touched>("touched", "", "overallocated: less than so many percent touched")
        .ShowsDefault()
        .Range(0, 100),
    MakeField<&Request::uneven>(
        "uneven", "", "uneven: accesses of pages deviate by more than so many times their mean")
        .ShowsDefault()
        .Range(0, kUnlimited),
    MakeField<&Request::tolerance>("tolerance", "",
                                   "how many percent of the total its parts may be off")
        .ShowsDefault()
        .Range(0, 100),
    MakeField<&Request::plain_ms>(
        "plain_ms", "",
        "how long a step (without steps: the whole) takes without recording, in milliseconds, "
        "instead of --times; one for all recordings or one for each")
        .Repeats()
        .Range(std::numeric_limits<double>::min(), kUnlimited),
    MakeField<&Request::capacity>("capacity", "", "bytes of the GPU's memory").Range(1, kUnlimited),
    MakeField<&Request::oversubscription>(
        "oversubscription", "",
        "memory as a part of the footprint: 3 is a third (default: 1 and 3)")
        .Range(0.01, 1e6),
    MakeField<&Request::uvm_page>("uvm_page", "", "bytes of a page: 4096, …, 65536"),
    MakeField<&Request::repeat>("repeat", "", "repeat the recording so many times (default: 2)")
        .Range(1, 1000),
    MakeField<&Request::lookahead>("lookahead", "",
                                   "try tensor level up to so many operators ahead")
        .Range(0, 1000),
    MakeField<&Request::costs>(
        "costs", "", "measured: on an H200 in a virtual machine (default); published: from papers")
        .Choices(kCosts),
    MakeField<&Request::prefetch_stream>(
        "prefetch_stream", "", "prefetch calls come from a stream of their own, which is idle"),
    MakeField<&Request::gpu>("gpu", "", "whose memory and link (orrery list gpus)")
        .Placeholder("NAME"),
});

// Several recordings are no run of their own: some tools compare them.
constexpr Field<Request> PathsField() {
  Field<Request> field{
      .name = "paths", .unit = "", .doc = "files and folders, as orrery info reads them"};
  field.get = [](const Request& request) { return ToValue(request.run.paths); };
  field.schema = &internal::Schema<std::vector<std::string>>;
  field.target = [](Request& request) { return FieldTarget(&request.run.paths); };
  return field;
}

constexpr auto kRequest = JoinFields(std::array{PathsField()}, kSources,
                                     PartFields<&Request::run, kRunOptionFields>(), kOfTools);

constexpr auto kResult = std::to_array<Field<MemoryResult>>({
    MakeField<&MemoryResult::tool>("tool", "", "name of the tool"),
    MakeField<&MemoryResult::title>("title", "", "names of the recordings"),
    MakeField<&MemoryResult::coverage>(
        "coverage", "", "how completely launches were observed, a line for each run"),
    MakeField<&MemoryResult::coverage_parts>("coverage_parts", "", "the same in numbers"),
    MakeField<&MemoryResult::times>("times", "", "sources of times, if from another run").IfAny(),
    MakeField<&MemoryResult::facts>("facts", "", "numbers of the tool"),
    MakeField<&MemoryResult::tables>("tables", "", "rows of the tool's tables"),
    MakeField<&MemoryResult::notes>("notes", "", "how to read it"),
});

std::vector<MemoryToolInfo> MakeList() {
  std::vector<MemoryToolInfo> list;
  for (const MemoryTool& tool : AllMemoryTools()) {
    list.push_back({.name = tool.name,
                    .line = tool.line,
                    .first_field = tool.first_field,
                    .last_field = tool.last_field});
  }
  return list;
}

}  // namespace

const std::vector<MemoryToolInfo>& MemoryToolList() {
  static const std::vector<MemoryToolInfo> list = MakeList();
  return list;
}

ORRERY_SET_FIELDS(MemoryRequest, kRequest)
ORRERY_SET_FIELDS(MemoryResult, kResult)

}  // namespace orrery::api
