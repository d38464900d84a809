#pragma once

#include <span>

#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/report.h"

namespace msc::gym {

/// The model, the verdict as a sentence, and the tiles with the numbers behind it.
[[nodiscard]] Html HeadlineSection(const ReportInput& input, std::span<const ReportMark> marks);

/// The network as a strip, a layer as wide as its share of time, and the table of its layers.
/// Nothing without layers.
[[nodiscard]] Html LayerSection(const ReportInput& input);

/// What computing and converting take of the uncompressed model and of the best, a block a step.
/// Nothing without steps.
[[nodiscard]] Html BreakdownSection(const ReportInput& input);

/// Each decision of the winner, and what trials that differ in it alone say for it. Nothing without
/// winner.
[[nodiscard]] Html DecisionSection(const ReportInput& input, std::span<const ReportMark> marks);

/// How far each decision decides latency and quality. Nothing with too few trials to tell.
[[nodiscard]] Html ImportanceSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Parallel coordinates: a line a trial through the choices that matter most and the metrics.
/// Nothing without trials that succeeded.
[[nodiscard]] Html ParallelSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Choices of every configuration on the Pareto front, a column a decision. Nothing without front.
[[nodiscard]] Html FrontSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Those measured again, with their intervals drawn to one scale. Nothing without finalists.
[[nodiscard]] Html FinalistSection(const ReportInput& input);

/// Who proposed the trials, and what each found. Nothing without sources.
[[nodiscard]] Html SourceSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Which worker was busy with which trial when, and how busy each was. Nothing without tasks.
[[nodiscard]] Html TimelineSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Reasons of failure, counted, each with an example. Nothing without failures.
[[nodiscard]] Html FailureSection(const ReportInput& input);

/// Every trial, folded away.
[[nodiscard]] Html TrialSection(const ReportInput& input, std::span<const ReportMark> marks);

/// Commands to do it again, machine and versions, configuration.
[[nodiscard]] Html OriginSection(const ReportInput& input);

}  // namespace msc::gym
