#include <array>

#include "orrery/api/evaluate_echo.h"
#include "orrery/api/fields.h"

namespace orrery::api {
namespace {

constexpr auto kRequest = std::to_array<Field<EvaluateEchoRequest>>({
    MakeField<&EvaluateEchoRequest::folder>(
        "folder", "", "a folder of Echo-slowdown: merged_features.csv, xgb_model.json"),
    MakeField<&EvaluateEchoRequest::repeats>("repeats", "",
                                             "of --echo: repetitions of the cross-validation (10)")
        .Range(1, 1000),
});

constexpr auto kLine = std::to_array<Field<EchoLine>>({
    MakeField<&EchoLine::label>("label", "", "text of the line"),
    MakeField<&EchoLine::value>("value", "", "value in full precision"),
    MakeField<&EchoLine::error_percent>("error_percent", "%", "error of a sum").IfKnown(),
});

constexpr auto kModel = std::to_array<Field<EchoModelErrors>>({
    MakeField<&EchoModelErrors::feeding>("feeding", "",
                                         "inputs of the model: as shipped or standardised"),
    MakeField<&EchoModelErrors::r2_of_slowdown>("r2_of_slowdown", "",
                                                "R² of the slowdown of overlapped rows"),
    MakeField<&EchoModelErrors::r2_trained>("r2_trained", "", "the same of the training rows"),
    MakeField<&EchoModelErrors::r2_held_out>("r2_held_out", "", "the same of the test rows"),
    MakeField<&EchoModelErrors::overlapped>("overlapped", "", "errors on overlapped rows"),
    MakeField<&EchoModelErrors::held_out>("held_out", "", "errors on test rows"),
    MakeField<&EchoModelErrors::held_out_overlapped>("held_out_overlapped", "",
                                                     "errors on test rows that overlap"),
});

constexpr auto kDifference = std::to_array<Field<EchoDifference>>({
    MakeField<&EchoDifference::mean>("mean", "%", "mean difference in points"),
    MakeField<&EchoDifference::low>("low", "%", "low end of the 95 % interval"),
    MakeField<&EchoDifference::high>("high", "%", "high end of the 95 % interval"),
    MakeField<&EchoDifference::low_99>("low_99", "%", "low end of the 99 % interval"),
    MakeField<&EchoDifference::high_99>("high_99", "%", "high end of the 99 % interval"),
    MakeField<&EchoDifference::excludes_equality>("excludes_equality", "",
                                                  "zero is outside the 95 % interval"),
});

using Predictor = EchoPredictorErrors;

constexpr auto kPredictor = std::to_array<Field<Predictor>>({
    MakeField<&Predictor::predictor>("predictor", "", "name of the predictor"),
    MakeField<&Predictor::mape>("mape", "%", "mean of |error| of overlapped rows"),
    MakeField<&Predictor::mape_minus_median>("mape_minus_median", "%",
                                             "mape less that of the median by name"),
    MakeField<&Predictor::within_5>("within_5", "%", "share of rows with |error| up to 5 %"),
    MakeField<&Predictor::within_10>("within_10", "%", "share of rows with |error| up to 10 %"),
    MakeField<&Predictor::within_15>("within_15", "%", "share of rows with |error| up to 15 %"),
    MakeField<&Predictor::r2>("r2", "", "R² of the log times"),
    MakeField<&Predictor::mape_all>("mape_all", "%", "mean of |error| of all rows"),
    MakeField<&Predictor::total>("total", "%", "signed error of the sum of all rows"),
    MakeField<&Predictor::total_overlapped>("total_overlapped", "%", "the same of overlapped rows"),
});

constexpr auto kCrossValidation = std::to_array<Field<EchoCrossValidation>>({
    MakeField<&EchoCrossValidation::held_out>(
        "held_out", "", "rows that are held out together: stretches, or single rows"),
    MakeField<&EchoCrossValidation::folds>("folds", "", "parts of the rows"),
    MakeField<&EchoCrossValidation::repeats>("repeats", "", "repetitions with other parts"),
    MakeField<&EchoCrossValidation::rows>("rows", "", "evaluated rows"),
    MakeField<&EchoCrossValidation::predictors>("predictors", "", "means over the repetitions"),
});

using Evaluated = EvaluateEchoResult;

constexpr auto kResult = std::to_array<Field<Evaluated>>({
    MakeField<&Evaluated::rows>("rows", "", "rows of the table"),
    MakeField<&Evaluated::trees>("trees", "", "trees of Echo's model"),
    MakeField<&Evaluated::nodes>("nodes", "", "nodes of its trees"),
    MakeField<&Evaluated::gain_shares>("gain_shares", "", "share of the gain by feature"),
    MakeField<&Evaluated::published>("published", "", "lines of Echo's test as shipped"),
    MakeField<&Evaluated::published_agree>("published_agree", "",
                                           "all lines of output_metrics.txt were reproduced")
        .IfKnown(),
    MakeField<&Evaluated::fed>("fed", "", "errors of Echo's model by its inputs"),
    MakeField<&Evaluated::left_out_ids>("left_out_ids", "",
                                        "rows excluded because of the clock step"),
    MakeField<&Evaluated::stretches>("stretches", "",
                                     "contiguous spans of rows that are held out together"),
    MakeField<&Evaluated::forms>("forms", "", "groups that our model pools"),
    MakeField<&Evaluated::noise_low>("noise_low", "",
                                     "10th percentile of together / alone without overlap"),
    MakeField<&Evaluated::noise_high>("noise_high", "",
                                      "90th percentile of together / alone without overlap"),
    MakeField<&Evaluated::cross_validation>("cross_validation", "",
                                            "errors of predictors on held-out rows"),
});

}  // namespace

ORRERY_SET_FIELDS(EvaluateEchoRequest, kRequest)
ORRERY_SET_FIELDS(EchoLine, kLine)
ORRERY_SET_FIELDS(EchoModelErrors, kModel)
ORRERY_SET_FIELDS(EchoDifference, kDifference)
ORRERY_SET_FIELDS(EchoPredictorErrors, kPredictor)
ORRERY_SET_FIELDS(EchoCrossValidation, kCrossValidation)
ORRERY_SET_FIELDS(EvaluateEchoResult, kResult)

}  // namespace orrery::api
