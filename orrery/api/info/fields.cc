#include "orrery/api/fields.h"

#include <array>
#include <utility>

#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/info.h"
#include "orrery/base/document/value.h"

namespace orrery::api {

namespace {

constexpr auto kInfoRequest = PartFields<&InfoRequest::run, kRunFields>();

constexpr auto kInfoProblem = std::to_array<Field<InfoProblem>>({
    MakeField<&InfoProblem::what>("what", "", "kind of problem"),
    MakeField<&InfoProblem::count>("count", "", "occurrences"),
    MakeField<&InfoProblem::lost>("lost", "", "something is missing from the result"),
    MakeField<&InfoProblem::first>("first", "", "place of the first occurrence").IfAny(),
});

constexpr auto kInfoGroup = std::to_array<Field<InfoGroup>>({
    MakeField<&InfoGroup::name>("name", "", "name of the process group"),
    MakeField<&InfoGroup::description>("description", "", "purpose, as the framework names it"),
    MakeField<&InfoGroup::backend>("backend", "", "communication library"),
    MakeField<&InfoGroup::size>("size", "", "number of ranks"),
    MakeField<&InfoGroup::ranks>("ranks", "", "ranks as JSON text"),
});

constexpr auto kInfoLaunches = std::to_array<Field<InfoLaunches>>({
    MakeField<&InfoLaunches::count>("count", "", "kernels"),
    MakeField<&InfoLaunches::time_ns>("time_ns", "ns", "their time"),
});

constexpr auto kInfoCoverageCount = std::to_array<Field<InfoCoverageCount>>({
    MakeField<&InfoCoverageCount::kind>("kind", "", "kind of count"),
    MakeField<&InfoCoverageCount::name>("name", "", "name of the counted thing"),
    MakeField<&InfoCoverageCount::count>("count", "", "count as the recorder reports it"),
});

constexpr auto kInfoOverhead = std::to_array<Field<InfoOverhead>>({
    MakeField<&InfoOverhead::phase>("phase", "", "phase of the recording"),
    MakeField<&InfoOverhead::total_ns>("total_ns", "ns", "time of the phase"),
    MakeField<&InfoOverhead::count>("count", "", "number of times"),
    MakeField<&InfoOverhead::bytes>("bytes", "bytes", "amount of data"),
});

constexpr auto kInfoCoverage = std::to_array<Field<InfoCoverage>>({
    MakeField<&InfoCoverage::kernels>("kernels", "", "kernels by how their accesses were observed"),
    MakeField<&InfoCoverage::counts>("counts", "", "counts as the recorder reports them"),
    MakeField<&InfoCoverage::overhead>("overhead", "", "overhead of the recording by phase"),
});

constexpr auto kInfoRank = std::to_array<Field<InfoRank>>({
    MakeField<&InfoRank::rank>("rank", "", "rank: from the content, else from the file name"),
    MakeField<&InfoRank::world_size>("world_size", "", "number of ranks of the job"),
    MakeField<&InfoRank::files>("files", "", "files that the rank was read from"),
    MakeField<&InfoRank::format>("format", "", "format of the files"),
    MakeField<&InfoRank::version>("version", "", "generation or schema of the format"),
    MakeField<&InfoRank::gpu>("gpu", "", "GPU, where the files name it"),
    MakeField<&InfoRank::host>("host", "", "host, where the files name it"),
    MakeField<&InfoRank::time_origin>("time_origin", "",
                                      "origin of times: epoch, recording or unknown"),
    MakeField<&InfoRank::begin_ns>("begin_ns", "ns", "first begin of an event"),
    MakeField<&InfoRank::span_ns>("span_ns", "ns", "time from there to the last end"),
    MakeField<&InfoRank::steps>("steps", "", "number of steps found"),
    MakeField<&InfoRank::counts>("counts", "", "rows by kind"),
    MakeField<&InfoRank::process_groups>("process_groups", "", "process groups"),
    MakeField<&InfoRank::coverage>("coverage", "",
                                   "completeness of observed memory accesses, where recorded")
        .IfKnown(),
    MakeField<&InfoRank::problems>("problems", "", "problems of reading the rank"),
});

constexpr auto kInfoTable = std::to_array<Field<InfoTable>>({
    MakeField<&InfoTable::rank>("rank", "", "none: measurements are of no rank"),
    MakeField<&InfoTable::files>("files", "", "file that the table was read from"),
    MakeField<&InfoTable::format>("format", "", "format of the file"),
    MakeField<&InfoTable::counts>("counts", "", "number of rows"),
    MakeField<&InfoTable::columns>("columns", "", "names of the columns"),
    MakeField<&InfoTable::problems>("problems", "", "problems of reading the table"),
});

constexpr auto kInfoSkippedFile = std::to_array<Field<InfoSkippedFile>>({
    MakeField<&InfoSkippedFile::file>("file", "", "file or folder that is not part of the run"),
    MakeField<&InfoSkippedFile::why>("why", "", "reason"),
});

// Ranks, then tables.
Value EntriesOf(const InfoResult& result) {
  Value entries = ToValue(result.ranks);
  for (const InfoTable& table : result.tables) {
    entries.Add(ToObject(table));
  }
  return entries;
}

Value EntriesSchema() {
  Value either = Value::List();
  either.Add(ObjectSchema<InfoRank>()).Add(ObjectSchema<InfoTable>());
  return internal::ListSchema(Value::Object().Set("anyOf", std::move(either)));
}

constexpr auto kInfoResult = std::to_array<Field<InfoResult>>({
    {.name = "ranks",
     .unit = "",
     .doc = "ranks in order, then tables of measurements",
     .get = &EntriesOf,
     .schema = &EntriesSchema},
    MakeField<&InfoResult::card>("card", "", "file of the workload card"),
    MakeField<&InfoResult::skipped>("skipped", "",
                                    "files and folders that are not part of the run"),
    MakeField<&InfoResult::is_partial>("partial", "", "something was lost"),
    MakeField<&InfoResult::problems>("problems", "", "problems of the run as a whole"),
});

}  // namespace

ORRERY_SET_FIELDS(InfoRequest, kInfoRequest)
ORRERY_SET_FIELDS(InfoProblem, kInfoProblem)
ORRERY_SET_FIELDS(InfoGroup, kInfoGroup)
ORRERY_SET_FIELDS(InfoLaunches, kInfoLaunches)
ORRERY_SET_FIELDS(InfoCoverageCount, kInfoCoverageCount)
ORRERY_SET_FIELDS(InfoOverhead, kInfoOverhead)
ORRERY_SET_FIELDS(InfoCoverage, kInfoCoverage)
ORRERY_SET_FIELDS(InfoRank, kInfoRank)
ORRERY_SET_FIELDS(InfoTable, kInfoTable)
ORRERY_SET_FIELDS(InfoSkippedFile, kInfoSkippedFile)
ORRERY_SET_FIELDS(InfoResult, kInfoResult)

}  // namespace orrery::api
