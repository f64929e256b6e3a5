#include "orrery/api/fields.h"

#include <array>

#include "orrery/api/convert.h"
#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/input/run_selection.h"

namespace orrery::api {

namespace {

constexpr auto kOwnFields = std::to_array<Field<ConvertRequest>>({
    MakeField<&ConvertRequest::input>("input", "", "file or folder of one run"),
    MakeField<&ConvertRequest::output>("output", "", "file to write"),
    MakeField<&ConvertRequest::align>(
        "align", "", "align the clocks of ranks by the ends of their collectives (viewers only)")
        .Choices(kAlignWords)
        .ShowsDefault(),
    MakeField<&ConvertRequest::smallest>(
        "smallest", "", "pack .orr and .orrs as small as possible: slow to write, as fast to read"),
});

constexpr auto kConvertRequest =
    JoinFields(kOwnFields, PartFields<&ConvertRequest::run, kRunOptionFields>());

constexpr auto kConvertLeftOut = std::to_array<Field<ConvertLeftOut>>({
    MakeField<&ConvertLeftOut::graph_nodes>("graph_nodes", "",
                                            "nodes of execution traces: they have no times"),
    MakeField<&ConvertLeftOut::memory_objects>("memory_objects", "",
                                               "memory objects, which viewers cannot show"),
    MakeField<&ConvertLeftOut::touches>("touches", "", "touches and runs of pages"),
    MakeField<&ConvertLeftOut::accesses>("accesses", "", "accesses"),
    MakeField<&ConvertLeftOut::foreign_objects>("foreign_objects", "",
                                                "memory objects that are not the allocator's"),
    MakeField<&ConvertLeftOut::misplaced_tensors>("misplaced_tensors", "",
                                                  "tensors that overlap others in the final state"),
});

constexpr auto kConvertLoss = std::to_array<Field<ConvertLoss>>({
    MakeField<&ConvertLoss::what>("what", "", "kind of loss"),
    MakeField<&ConvertLoss::count>("count", "", "occurrences"),
    MakeField<&ConvertLoss::first>("first", "", "place of the first occurrence").IfAny(),
});

constexpr auto kPackedStream = std::to_array<Field<PackedStream>>({
    MakeField<&PackedStream::chunks>("chunks", "", "chunks of the stream"),
    MakeField<&PackedStream::bytes_before>("bytes_before", "bytes", "size of the input"),
    MakeField<&PackedStream::bytes_after>("bytes_after", "bytes", "size of the output"),
});

constexpr auto kPackedTable = std::to_array<Field<PackedTable>>({
    MakeField<&PackedTable::lines>("lines", "", "lines of the text, with the one of names"),
    MakeField<&PackedTable::bytes_before>("bytes_before", "bytes", "size of the input"),
    MakeField<&PackedTable::bytes_after>("bytes_after", "bytes", "size of the output"),
});

constexpr auto kConvertResult = std::to_array<Field<ConvertResult>>({
    MakeField<&ConvertResult::ranks>("ranks", "", "number of ranks"),
    MakeField<&ConvertResult::matched_collectives>("matched_collectives", "",
                                                   "collectives that were matched over the ranks")
        .IfKnown(),
    MakeField<&ConvertResult::aligned>("aligned", "", "clocks of the ranks were aligned"),
    MakeField<&ConvertResult::left_out>("left_out", "", "rows that the format has no place for"),
    MakeField<&ConvertResult::losses>("losses", "", "parts of the input that could not be read"),
    MakeField<&ConvertResult::stream>("stream", "", "a recorded stream that was packed").IfKnown(),
    MakeField<&ConvertResult::table>("table", "", "a table that was packed or unpacked").IfKnown(),
    MakeField<&ConvertResult::partial>("partial", "", "something was lost"),
});

}  // namespace

ORRERY_SET_FIELDS(ConvertRequest, kConvertRequest)
ORRERY_SET_FIELDS(ConvertLeftOut, kConvertLeftOut)
ORRERY_SET_FIELDS(ConvertLoss, kConvertLoss)
ORRERY_SET_FIELDS(PackedStream, kPackedStream)
ORRERY_SET_FIELDS(PackedTable, kPackedTable)
ORRERY_SET_FIELDS(ConvertResult, kConvertResult)

}  // namespace orrery::api
