#include "orrery/api/fields.h"

#include <array>
#include <limits>
#include <string_view>

#include "orrery/api/fields/field_parts.h"
#include "orrery/api/simulate/overlap_option.h"
#include "orrery/api/validate.h"

namespace orrery::api {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

constexpr auto kNetworks = std::to_array<std::string_view>({"alone", "shared"});

using Request = ValidateRequest;

constexpr auto kRequest = std::to_array<Field<Request>>({
    MakeField<&Request::truth>(
        "truth", "",
        "a table of measured runs (.csv, .csv.gz), docs/formats/published-runs.md; without "
        "one the table of ten publications that the program has "
        "(data/published/training.csv)"),
    MakeField<&Request::source>("source", "", "only rows whose source contains this")
        .Placeholder("TEXT"),
    MakeField<&Request::teams>("team", "", "only rows that these teams measured: NVIDIA,KAIST")
        .Placeholder("LIST"),
    MakeField<&Request::stacks>("stack", "", "only rows that ran these stacks: nanotron,Composer")
        .Placeholder("LIST"),
    MakeField<&Request::grades>("grade", "", "only rows of these grades: A,A-").Placeholder("LIST"),
    MakeField<&Request::most_rows>(
        "most_rows", "", "at most so many rows of each team, spread evenly over the table")
        .Placeholder("NUMBER")
        .Range(0, kUnlimited),
    MakeField<&Request::models>("model", "",
                                "kernel models of `orrery fit`, instead of the shipped ones")
        .Placeholder("FILE"),
    MakeField<&Request::frameworks>(
        "frameworks", "", "scalars of `orrery fit frameworks`, instead of the shipped ones")
        .Placeholder("FILE"),
    MakeField<&Request::leave_team_out>("leave_team_out", "",
                                        "evaluate each row with frameworks and intervals that were "
                                        "fitted without its stack and its "
                                        "team (data/workload/stacks.yaml)"),
    MakeField<&Request::settings>(
        "set", "",
        "change a property of the framework of every row: framework.module_calls=0; may be "
        "repeated")
        .Placeholder("KEY=VALUE")
        .Repeats(),
    MakeField<&Request::without>(
        "without", "", "leave a mechanism of the simulator out, to see what it does: power")
        .Placeholder("NAME"),
    MakeField<&Request::overlap>("overlap", "", kOverlapDoc).Choices(kOverlaps),
    MakeField<&Request::network>(
        "network", "",
        "how transfers of different groups share the network (default: shared over several "
        "nodes)")
        .Choices(kNetworks),
    MakeField<&Request::threads>("threads", "",
                                 "at most this many, of each process (one for each core)")
        .Range(0, kUnlimited),
});

constexpr auto kErrors = std::to_array<Field<StepErrors>>({
    MakeField<&StepErrors::rows>("rows", "", "selected rows"),
    MakeField<&StepErrors::simulated>("simulated", "", "of these, rows with a prediction"),
    MakeField<&StepErrors::mape>("mape", "%", "mean |error| of the simulated rows"),
    MakeField<&StepErrors::median>("median", "%", "median |error|"),
});

using Group = StepErrorGroup;

constexpr auto kNames = std::to_array<Field<Group>>({
    MakeField<&Group::source>("source", "", "source of the rows").IfKnown(),
    MakeField<&Group::team>("team", "", "team that measured the rows").IfKnown(),
    MakeField<&Group::name>("name", "", "name of the group").IfKnown(),
});

constexpr auto kGroupErrors = std::to_array<Field<Group>>({
    MakeField<&Group::max>("max", "%", "largest |error|"),
    MakeField<&Group::bias>("bias", "%", "mean error with its sign"),
    MakeField<&Group::coverage_80>("coverage_80", "%",
                                   "share of rows whose measured step is in the 80 % interval"),
});

constexpr auto kGroup = JoinFields(kNames, PartFields<&Group::errors, kErrors>(), kGroupErrors);

constexpr auto kRefused = std::to_array<Field<RefusedRow>>({
    MakeField<&RefusedRow::id>("id", "", "row"),
    MakeField<&RefusedRow::reason>("reason", "", "why it was not simulated"),
});

constexpr auto kRow = std::to_array<Field<ValidatedRow>>({
    MakeField<&ValidatedRow::id>("id", "", "row"),
    MakeField<&ValidatedRow::measured_s>("measured_s", "s", "measured step"),
    MakeField<&ValidatedRow::predicted_s>("predicted_s", "s", "predicted step"),
    MakeField<&ValidatedRow::low_s>("low_s", "s", "low end of the 80 % interval"),
    MakeField<&ValidatedRow::high_s>("high_s", "s", "high end of the 80 % interval"),
    MakeField<&ValidatedRow::measured_peak_bytes>(
        "measured_peak_bytes", "bytes", "measured peak of PyTorch's allocator on the last rank")
        .IfKnown(),
    MakeField<&ValidatedRow::predicted_peak_bytes>("predicted_peak_bytes", "bytes",
                                                   "the same as predicted")
        .IfKnown(),
    MakeField<&ValidatedRow::derived_from>("derived_from", "",
                                           "published quantity that the step was computed from")
        .IfAny(),
    MakeField<&ValidatedRow::assumed>("assumed", "", "settings that the table does not have"),
});

constexpr auto kPeakErrors = std::to_array<Field<PeakErrors>>({
    MakeField<&PeakErrors::rows>("rows", "", "simulated rows with a measured peak"),
    MakeField<&PeakErrors::mape>("mape", "%", "mean |error| of the predicted peak"),
    MakeField<&PeakErrors::median>("median", "%", "median |error|"),
    MakeField<&PeakErrors::max>("max", "%", "largest |error|"),
    MakeField<&PeakErrors::bias>("bias", "%", "mean error with its sign"),
});

constexpr auto kGpuName = std::to_array<Field<GpuPeakErrors>>({
    MakeField<&GpuPeakErrors::gpu>("gpu", "", "name of the GPU"),
});

constexpr auto kGpuPeakErrors =
    JoinFields(kGpuName, PartFields<&GpuPeakErrors::errors, kPeakErrors>());

using Answer = ValidateResult;

constexpr auto kAnswerParts = std::to_array<Field<Answer>>({
    MakeField<&Answer::sources>("sources", "", "errors by source"),
    MakeField<&Answer::refused>("refused", "", "rows without a prediction"),
    MakeField<&Answer::predictions>("predictions", "", "rows with a prediction, in their order"),
    MakeField<&Answer::max>("max", "%", "largest |error|"),
    MakeField<&Answer::bias>("bias", "%", "mean error with its sign"),
    MakeField<&Answer::coverage_80>("coverage_80", "%",
                                    "share of rows whose measured step is in the 80 % interval"),
    MakeField<&Answer::headline>("headline", "", "errors of rows of grade A and A-"),
    MakeField<&Answer::stacks>("stacks", "", "errors by stack"),
    MakeField<&Answer::teams>("teams", "", "errors by team"),
    MakeField<&Answer::releases>("releases", "", "errors by team and release"),
    MakeField<&Answer::grades>("grades", "", "errors by grade"),
    MakeField<&Answer::gpus>("gpus", "", "errors by GPU"),
    MakeField<&Answer::scales>("scales", "", "errors by number of GPUs"),
    MakeField<&Answer::dimensions>("dimensions", "", "errors by dimension of parallelism"),
    MakeField<&Answer::out_of_memory>("out_of_memory", "",
                                      "simulated rows that would not fit in GPU memory"),
    MakeField<&Answer::peak_memory>("peak_memory", "",
                                    "errors of the peak of memory that PyTorch's allocator gives "
                                    "out on the last rank, of rows that state it")
        .IfKnown(),
    MakeField<&Answer::peak_memory_gpus>("peak_memory_gpus", "", "the same by GPU").IfAny(),
    MakeField<&Answer::fit>("fit", "", "in sample or left out: whether the fit has seen the rows"),
    MakeField<&Answer::in_sample>("in_sample", "",
                                  "errors of rows whose stack or team the fit has seen")
        .IfKnown(),
    MakeField<&Answer::held_out>("held_out", "", "errors of all other rows").IfKnown(),
});

constexpr auto kAnswer = JoinFields(PartFields<&Answer::errors, kErrors>(), kAnswerParts);

constexpr auto kPlan = std::to_array<Field<MeasuredPlan>>({
    MakeField<&MeasuredPlan::plan>("plan", "", "the plan in words"),
    MakeField<&MeasuredPlan::ids>("ids", "", "its rows"),
    MakeField<&MeasuredPlan::predicted_s>("predicted_s", "s", "predicted step"),
    MakeField<&MeasuredPlan::measured_s>("measured_s", "s", "mean measured step"),
});

constexpr auto kRankedGroup = std::to_array<Field<RankedGroup>>({
    MakeField<&RankedGroup::source>("source", "", "source of the rows"),
    MakeField<&RankedGroup::team>("team", "", "team that measured them"),
    MakeField<&RankedGroup::release>("release", "", "release of the framework"),
    MakeField<&RankedGroup::model>("model", "", "model"),
    MakeField<&RankedGroup::gpu>("gpu", "", "GPU"),
    MakeField<&RankedGroup::gpus>("gpus", "", "number of GPUs"),
    MakeField<&RankedGroup::batch>("batch", "", "global batch in samples"),
    MakeField<&RankedGroup::sequence>("sequence", "", "tokens of a sample"),
    MakeField<&RankedGroup::framework>("framework", "", "framework"),
    MakeField<&RankedGroup::rows>("rows", "", "rows of the group"),
    MakeField<&RankedGroup::plans>("plans", "", "distinct plans"),
    MakeField<&RankedGroup::regret>("regret", "",
                                    "measured time of our first choice over the best, less one"),
    MakeField<&RankedGroup::best_rank>("best_rank", "",
                                       "place of the measured best plan in our order"),
    MakeField<&RankedGroup::best_in_first_three>("best_in_first_three", "",
                                                 "that place is 3 or less"),
    MakeField<&RankedGroup::spearman>("spearman", "",
                                      "rank correlation of predicted and measured times"),
    MakeField<&RankedGroup::first_choice>("first_choice", "", "plan with the shortest prediction"),
    MakeField<&RankedGroup::measured_best>("measured_best", "", "plan that was measured fastest"),
});

constexpr auto kRanking = std::to_array<Field<RankingErrors>>({
    MakeField<&RankingErrors::groups>("groups", "", "groups of rows that differ in their plan"),
    MakeField<&RankingErrors::mean_regret>("mean_regret", "", "mean regret of the groups"),
    MakeField<&RankingErrors::median_regret>("median_regret", "", "median regret"),
    MakeField<&RankingErrors::max_regret>("max_regret", "", "largest regret"),
    MakeField<&RankingErrors::top3_share>(
        "top3_share", "", "share of groups whose best plan is among our first three"),
    MakeField<&RankingErrors::mean_spearman>("mean_spearman", "", "mean rank correlation"),
});

constexpr auto kSourceName = std::to_array<Field<RankedSource>>({
    MakeField<&RankedSource::source>("source", "", "source of the rows"),
});

constexpr auto kRankedSource =
    JoinFields(kSourceName, PartFields<&RankedSource::errors, kRanking>());

constexpr auto kRankingParts = std::to_array<Field<RankPlansResult>>({
    MakeField<&RankPlansResult::rows>("rows", "", "selected rows"),
    MakeField<&RankPlansResult::simulated>("simulated", "", "rows with a prediction"),
    MakeField<&RankPlansResult::rows_in_groups>("rows_in_groups", "", "rows of all groups"),
    MakeField<&RankPlansResult::least_rows>("least_rows", "", "rows that a group has at least"),
    MakeField<&RankPlansResult::sources>("sources", "", "the same by source"),
    MakeField<&RankPlansResult::groups>("each", "", "single groups"),
});

constexpr auto kRankPlans =
    JoinFields(PartFields<&RankPlansResult::errors, kRanking>(), kRankingParts);

}  // namespace

ORRERY_SET_FIELDS(ValidateRequest, kRequest)
ORRERY_SET_FIELDS(StepErrors, kErrors)
ORRERY_SET_FIELDS(StepErrorGroup, kGroup)
ORRERY_SET_FIELDS(PeakErrors, kPeakErrors)
ORRERY_SET_FIELDS(GpuPeakErrors, kGpuPeakErrors)
ORRERY_SET_FIELDS(RefusedRow, kRefused)
ORRERY_SET_FIELDS(ValidatedRow, kRow)
ORRERY_SET_FIELDS(ValidateResult, kAnswer)
ORRERY_SET_FIELDS(MeasuredPlan, kPlan)
ORRERY_SET_FIELDS(RankedGroup, kRankedGroup)
ORRERY_SET_FIELDS(RankedSource, kRankedSource)
ORRERY_SET_FIELDS(RankPlansResult, kRankPlans)

}  // namespace orrery::api
