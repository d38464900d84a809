#include "gym/report/report.h"

#include "gym/report/charts.h"
#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/page_frame.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

Html Charts(const ReportInput& input, std::span<const ReportMark> marks) {
  if (marks.empty()) return Html{"<section><p>No trial has finished.</p></section>"};
  Html scatter;
  if (!input.quality.metric.empty()) {
    scatter = Markup("<figure><h2>Trade-offs</h2><div class='scroll'>", ScatterChart(input, marks),
                     "</div></figure>");
  }
  return Markup(
      "<section class='charts'><div class='pair'><figure><h2>The search</h2>"
      "<div class='scroll'>",
      HistoryChart(input, marks), "</div></figure>", scatter, "</div>", ChartLegend(),
      "</section>");
}

}  // namespace

std::string RenderReport(const ReportInput& input) {
  const std::vector<ReportMark> marks = ReportMarks(input);
  const Html body =
      Markup(HeadlineSection(input, marks), Charts(input, marks), FinalistSection(input),
             LayerSection(input), BreakdownSection(input), DecisionSection(input, marks),
             ImportanceSection(input, marks), ParallelSection(input, marks),
             FrontSection(input, marks), SourceSection(input, marks), TimelineSection(input, marks),
             FailureSection(input), OriginSection(input), TrialSection(input, marks));
  return ScriptedPage(input.model + " \xC2\xB7 MSCGym report", body);
}

}  // namespace msc::gym
