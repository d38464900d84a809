#pragma once

#include <span>

#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/report.h"

namespace msc::gym {

/// Shows the model, the verdict as a sentence, and tiles with its numbers.
[[nodiscard]] Html HeadlineSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows the samples that changed most. Empty without samples.
[[nodiscard]] Html ChangedSection(const ReportInput& input);

/// Shows how to use the best configuration, and links to the files of the run. Empty without both.
[[nodiscard]] Html ShippingSection(const ReportInput& input);

/// Shows the network as a strip, each layer as wide as its share of time, and the table of layers.
/// Empty without layers.
[[nodiscard]] Html LayerSection(const ReportInput& input);

/// Shows the time of computing and of converting, for the uncompressed model and the best, one
/// block per step. Empty without steps.
[[nodiscard]] Html BreakdownSection(const ReportInput& input);

/// Shows each decision of the winner, and the trials that differ from it in that decision alone.
/// Empty without a winner.
[[nodiscard]] Html DecisionSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows how strongly each decision influences latency and quality. Empty with too few trials.
[[nodiscard]] Html ImportanceSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows estimates of the trials against their results, with the share of pairs in the right order.
/// Empty without estimates.
[[nodiscard]] Html PredictionSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Draws parallel coordinates: one line per trial through the most important decisions and the
/// metrics. Empty without successful trials.
[[nodiscard]] Html ParallelSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows the choices of every configuration on the Pareto front, one column per decision. Empty
/// without a front.
[[nodiscard]] Html FrontSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows the finalists, with their intervals on one scale. Empty without finalists.
[[nodiscard]] Html FinalistSection(const ReportInput& input);

/// Shows the sources of proposals and their results. Empty without sources.
[[nodiscard]] Html SourceSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows which worker ran which trial when, and how busy each was. Empty without tasks.
[[nodiscard]] Html TimelineSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Counts the reasons of failures, each with an example. Empty without failures.
[[nodiscard]] Html FailureSection(const ReportInput& input);

/// Shows every trial in a collapsed table.
[[nodiscard]] Html TrialSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Shows the commands to repeat the search, machine and versions, and the configuration.
[[nodiscard]] Html OriginSection(const ReportInput& input);

}  // namespace msc::gym
