#include "orrery/api/fields.h"

#include <array>

#include "orrery/api/error_metrics.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/fields/field_parts.h"

namespace orrery::api {
namespace {

constexpr auto kErrorMetrics = std::to_array<Field<ErrorMetrics>>({
    MakeField<&ErrorMetrics::rows>("rows", "", "number of evaluated rows"),
    MakeField<&ErrorMetrics::mape>("mape", "%", "mean of |error|"),
    MakeField<&ErrorMetrics::gmae>("gmae", "%", "geometric mean: exp(mean ln(|error| + 0.0004))"),
    MakeField<&ErrorMetrics::median>("median", "%", "median of |error|"),
    MakeField<&ErrorMetrics::p95>("p95", "%", "95th percentile of |error|"),
    MakeField<&ErrorMetrics::r2>("r2", "", "R² of the log times"),
    MakeField<&ErrorMetrics::bias>("bias", "%", "mean signed error"),
    MakeField<&ErrorMetrics::within_5>("within_5", "%", "share of rows with |error| up to 5 %"),
    MakeField<&ErrorMetrics::within_10>("within_10", "%", "share of rows with |error| up to 10 %"),
    MakeField<&ErrorMetrics::within_15>("within_15", "%", "share of rows with |error| up to 15 %"),
    MakeField<&ErrorMetrics::error_of_sum>("error_of_sum", "%",
                                           "signed error of the sum of all predicted times"),
});

using Kernels = EvaluateKernelsRequest;

constexpr auto kKernelsRequest = std::to_array<Field<Kernels>>({
    MakeField<&Kernels::paths>("paths", "",
                               "tables of `orrery measure kernels`, NeuSight or aiconfigurator"),
    MakeField<&Kernels::models>(
        "model", "", "model file to evaluate instead of the shipped ones; may be repeated")
        .Placeholder("FILE")
        .Repeats(),
    MakeField<&Kernels::split>(
        "split", "",
        "fit on a part and evaluate the rest: random:20, gpu, gpu:NAME, value:m:20, "
        "above:m:4096, each perhaps with :seed=7")
        .Placeholder("RULE"),
    MakeField<&Kernels::unseen_gpu>("unseen_gpu", "",
                                    "evaluate each row by the models of all GPUs but its own"),
    MakeField<&Kernels::max_spread>(
        "max_spread", "", "leave out rows whose repeats differ by more than so many percent (100)")
        .Range(0, 1e6),
});

constexpr auto kKernelNames = std::to_array<Field<KernelErrors>>({
    MakeField<&KernelErrors::op>("operator", "", "kind of the operator"),
    MakeField<&KernelErrors::gpu>("gpu", "", "name in the catalogue"),
    MakeField<&KernelErrors::dtype>("dtype", "", "data type"),
    MakeField<&KernelErrors::timing>("timing", "",
                                     "what the measured times include: kernels, replay or eager"),
});

constexpr auto kKernelErrors =
    JoinFields(kKernelNames, PartFields<&KernelErrors::errors, kErrorMetrics>());

constexpr auto kKernelsResult = std::to_array<Field<EvaluateKernelsResult>>({
    MakeField<&EvaluateKernelsResult::split>("split", "", "description of the evaluated rows"),
    MakeField<&EvaluateKernelsResult::overall>("overall", "", "errors on all evaluated rows"),
    MakeField<&EvaluateKernelsResult::groups>("groups", "",
                                              "errors by operator, GPU, type and timing"),
    MakeField<&EvaluateKernelsResult::rejected_rows>("rejected_rows", "", "unusable rows"),
});

using Collectives = EvaluateCollectivesRequest;

constexpr auto kCollectivesRequest = std::to_array<Field<Collectives>>({
    MakeField<&Collectives::paths>(
        "paths", "", "nccl-tests logs or tables; docs/formats/measured-collectives.md"),
    MakeField<&Collectives::model>(
        "model", "", "constants of `orrery fit collectives`, instead of the shipped ones")
        .Placeholder("FILE"),
    MakeField<&Collectives::split>(
        "split", "",
        "fit on a part and evaluate the rest: random:20, above:gpus:16, each perhaps with "
        ":seed=7")
        .Placeholder("RULE"),
    MakeField<&Collectives::unseen_machine>(
        "unseen_machine", "", "evaluate each row by the models of all machines but its own"),
    MakeField<&Collectives::cluster>("cluster", "", "the machine, where the data do not name it")
        .Placeholder("NAME"),
    MakeField<&Collectives::min_bytes>("min_bytes", "", "leave out smaller messages (1024)"),
});

constexpr auto kCollectiveNames = std::to_array<Field<CollectiveErrors>>({
    MakeField<&CollectiveErrors::source>("source", "", "source of the measurement"),
    MakeField<&CollectiveErrors::machine>("machine", "", "cluster of the catalogue"),
    MakeField<&CollectiveErrors::collective>("collective", "", "kind of the collective"),
    MakeField<&CollectiveErrors::gpus>("gpus", "", "number of GPUs"),
});

constexpr auto kCollectiveErrors =
    JoinFields(kCollectiveNames, PartFields<&CollectiveErrors::errors, kErrorMetrics>());

constexpr auto kCollectivesResult = std::to_array<Field<EvaluateCollectivesResult>>({
    MakeField<&EvaluateCollectivesResult::overall>("overall", "", "errors on all evaluated rows"),
    MakeField<&EvaluateCollectivesResult::groups>(
        "groups", "", "errors by source, machine, collective and number of GPUs"),
});

constexpr auto kAllRequest = PartFields<&EvaluateAllRequest::kernels, kKernelsRequest>();

constexpr auto kFamilyNames = std::to_array<Field<FamilyErrors>>({
    MakeField<&FamilyErrors::family>("family", "", "kernels or collectives"),
    MakeField<&FamilyErrors::timing>("timing", "", "what measured times of kernels include"),
    MakeField<&FamilyErrors::gpus>("gpus", "", "GPUs of kernels").IfKnown(),
    MakeField<&FamilyErrors::machines>("machines", "", "clusters of collectives").IfKnown(),
});

constexpr auto kFamilyErrors =
    JoinFields(kFamilyNames, PartFields<&FamilyErrors::errors, kErrorMetrics>());

constexpr auto kAllResult = std::to_array<Field<EvaluateAllResult>>({
    MakeField<&EvaluateAllResult::split>("split", "", "description of the evaluated rows"),
    MakeField<&EvaluateAllResult::families>("families", "", "errors by family of models"),
    MakeField<&EvaluateAllResult::rejected_rows>("rejected_rows", "", "unusable rows"),
});

using Overlap = EvaluateOverlapRequest;

constexpr auto kOverlapRequest = std::to_array<Field<Overlap>>({
    MakeField<&Overlap::paths>("paths", "",
                               "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md"),
    MakeField<&Overlap::counters>("counters", "", "tables of counters of the same kernels")
        .Placeholder("FILE"),
    MakeField<&Overlap::model>("model", "", "evaluate this model on all rows").Placeholder("FILE"),
    MakeField<&Overlap::held_out>(
        "held_out", "",
        "fit on a part and evaluate the rest: kernel (default), width, pattern, place, row; "
        "none: the shipped model on all rows")
        .Placeholder("WHAT")
        .ShowsDefault(),
    MakeField<&Overlap::seed>("seed", "", "of the split (7)"),
});

constexpr auto kPredictorName = std::to_array<Field<OverlapPredictorErrors>>({
    MakeField<&OverlapPredictorErrors::name>("name", "", "predictor"),
});

constexpr auto kPredictorSlowdown = std::to_array<Field<OverlapPredictorErrors>>({
    MakeField<&OverlapPredictorErrors::r2_of_stretch>("r2_of_stretch", "",
                                                      "R² of the logarithm of the slowdown"),
});

constexpr auto kPredictor =
    JoinFields(kPredictorName, PartFields<&OverlapPredictorErrors::errors, kErrorMetrics>(),
               kPredictorSlowdown);

constexpr auto kDelays = std::to_array<Field<DelayErrors>>({
    MakeField<&DelayErrors::waited>("waited", "", "rows whose communication waits for room"),
    MakeField<&DelayErrors::median_error>("median_error", "%", "median error of these delays"),
    MakeField<&DelayErrors::precision>("precision", "%",
                                       "share of rows predicted to wait that do wait"),
    MakeField<&DelayErrors::recall>("recall", "%", "share of rows that wait and were predicted to"),
});

constexpr auto kOverlapGroupNames = std::to_array<Field<OverlapGroupErrors>>({
    MakeField<&OverlapGroupErrors::by>("by", "", "quantity that the rows share"),
    MakeField<&OverlapGroupErrors::name>("name", "", "value of it"),
});

constexpr auto kOverlapGroup =
    JoinFields(kOverlapGroupNames, PartFields<&OverlapGroupErrors::errors, kErrorMetrics>());

constexpr auto kImportance = std::to_array<Field<FeatureImportance>>({
    MakeField<&FeatureImportance::features>("features", "", "group of features"),
    MakeField<&FeatureImportance::increase>(
        "increase", "%", "increase of the slowdown's MAPE without them, in points"),
});

using OverlapResult = EvaluateOverlapResult;

constexpr auto kOverlapResult = std::to_array<Field<OverlapResult>>({
    MakeField<&OverlapResult::judged>("judged", "", "description of the evaluated rows"),
    MakeField<&OverlapResult::predictors>("predictors", "",
                                          "errors of the duration by predictor, ours first"),
    MakeField<&OverlapResult::as_planned>("as_planned", "",
                                          "the same of ours without launch and counters"),
    MakeField<&OverlapResult::communication>("communication", "",
                                             "errors of communication that runs all the while"),
    MakeField<&OverlapResult::delays>("delays", "", "delays of communication"),
    MakeField<&OverlapResult::noise_floor>("noise_floor", "%",
                                           "median spread of the repeats of a row"),
    MakeField<&OverlapResult::groups>("groups", "", "errors of the duration by kind of row"),
    MakeField<&OverlapResult::importance>("importance", "", "groups of features"),
});

constexpr auto kJitterRequest = std::to_array<Field<EvaluateJitterRequest>>({
    MakeField<&EvaluateJitterRequest::path>(
        "path", "", "table of logged steps; docs/formats/recorded-steps.md"),
});

constexpr auto kDistances = std::to_array<Field<JitterDistances>>({
    MakeField<&JitterDistances::mean>("mean", "", "mean over groups"),
    MakeField<&JitterDistances::median>("median", "", "median over groups"),
    MakeField<&JitterDistances::largest>("largest", "", "largest of all groups"),
    MakeField<&JitterDistances::share_below_0_208>("share_below_0_208", "",
                                                   "share of groups below 0.208"),
});

constexpr auto kJitterGroup = std::to_array<Field<JitterGroup>>({
    MakeField<&JitterGroup::system>("system", "", "system that logged the steps"),
    MakeField<&JitterGroup::benchmark>("benchmark", "", "benchmark"),
    MakeField<&JitterGroup::gpu>("gpu", "", "GPU"),
    MakeField<&JitterGroup::gpus>("gpus", "", "number of GPUs"),
    MakeField<&JitterGroup::window>("window", "", "steps whose mean a record is"),
    MakeField<&JitterGroup::records>("records", "", "records"),
    MakeField<&JitterGroup::ks>(
        "ks", "", "distance of measured and predicted records, fitted without the submitter"),
    MakeField<&JitterGroup::ks_system>("ks_system", "", "the same without the system only"),
    MakeField<&JitterGroup::step_sigma>("step_sigma", "", "width of one step"),
    MakeField<&JitterGroup::measured_sigma>("measured_sigma", "", "measured width of records"),
    MakeField<&JitterGroup::predicted_sigma>("predicted_sigma", "", "predicted width of records"),
    MakeField<&JitterGroup::measured_p95>("measured_p95", "", "measured 95th percentile"),
    MakeField<&JitterGroup::predicted_p95>("predicted_p95", "", "predicted 95th percentile"),
    MakeField<&JitterGroup::measured_p99>("measured_p99", "", "measured 99th percentile"),
    MakeField<&JitterGroup::predicted_p99>("predicted_p99", "", "predicted 99th percentile"),
});

constexpr auto kJitterScale = std::to_array<Field<JitterScale>>({
    MakeField<&JitterScale::gpu>("gpu", "", "GPU"),
    MakeField<&JitterScale::gpus>("gpus", "", "range of the number of GPUs"),
    MakeField<&JitterScale::groups>("groups", "", "number of groups"),
    MakeField<&JitterScale::step_sigma>("step_sigma", "", "median width of one step"),
    MakeField<&JitterScale::least_sigma>("least_sigma", "", "least width of one step"),
    MakeField<&JitterScale::most_sigma>("most_sigma", "", "largest width of one step"),
    MakeField<&JitterScale::p99>("p99", "", "median of the measured 99th percentiles"),
    MakeField<&JitterScale::ks>("ks", "", "median distance of measured and predicted records"),
});

using JitterResult = EvaluateJitterResult;

constexpr auto kJitterResult = std::to_array<Field<JitterResult>>({
    MakeField<&JitterResult::submitter_left_out>(
        "submitter_left_out", "", "distances by models fitted without the submitter of a group"),
    MakeField<&JitterResult::system_left_out>(
        "system_left_out", "", "distances by models fitted without the system of a group"),
    MakeField<&JitterResult::p99_ratio>("p99_ratio", "",
                                        "predicted over measured distance of p99 from the median"),
    MakeField<&JitterResult::p99_within_factor_2>("p99_within_factor_2", "",
                                                  "share of groups where it is from 0.5 to 2"),
    MakeField<&JitterResult::records>("records", "", "records of the table"),
    MakeField<&JitterResult::records_in_warm_up>("records_in_warm_up", "",
                                                 "unused records at the beginning of runs"),
    MakeField<&JitterResult::records_at_the_end>("records_at_the_end", "",
                                                 "unused records at the end of runs"),
    MakeField<&JitterResult::records_in_small_groups>(
        "records_in_small_groups", "", "unused records of runs and windows with too few"),
    MakeField<&JitterResult::groups>("groups", "", "by system, benchmark and window"),
    MakeField<&JitterResult::scales>("scales", "", "by GPU and order of scale"),
});

}  // namespace

ORRERY_SET_FIELDS(ErrorMetrics, kErrorMetrics)
ORRERY_SET_FIELDS(EvaluateKernelsRequest, kKernelsRequest)
ORRERY_SET_FIELDS(KernelErrors, kKernelErrors)
ORRERY_SET_FIELDS(EvaluateKernelsResult, kKernelsResult)
ORRERY_SET_FIELDS(EvaluateCollectivesRequest, kCollectivesRequest)
ORRERY_SET_FIELDS(CollectiveErrors, kCollectiveErrors)
ORRERY_SET_FIELDS(EvaluateCollectivesResult, kCollectivesResult)
ORRERY_SET_FIELDS(EvaluateAllRequest, kAllRequest)
ORRERY_SET_FIELDS(FamilyErrors, kFamilyErrors)
ORRERY_SET_FIELDS(EvaluateAllResult, kAllResult)
ORRERY_SET_FIELDS(EvaluateOverlapRequest, kOverlapRequest)
ORRERY_SET_FIELDS(OverlapPredictorErrors, kPredictor)
ORRERY_SET_FIELDS(DelayErrors, kDelays)
ORRERY_SET_FIELDS(OverlapGroupErrors, kOverlapGroup)
ORRERY_SET_FIELDS(FeatureImportance, kImportance)
ORRERY_SET_FIELDS(EvaluateOverlapResult, kOverlapResult)
ORRERY_SET_FIELDS(EvaluateJitterRequest, kJitterRequest)
ORRERY_SET_FIELDS(JitterDistances, kDistances)
ORRERY_SET_FIELDS(JitterGroup, kJitterGroup)
ORRERY_SET_FIELDS(JitterScale, kJitterScale)
ORRERY_SET_FIELDS(EvaluateJitterResult, kJitterResult)

}  // namespace orrery::api
