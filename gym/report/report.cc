#include "gym/report/report.h"

#include <string_view>
#include <utility>
#include <vector>

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
      "<section id='charts' class='charts'><div class='pair'><figure><h2>The search</h2>"
      "<div class='scroll'>",
      HistoryChart(input, marks), "</div></figure>", scatter, "</div>", ChartLegend(),
      "</section>");
}

/// Returns the id of the first element of a section.
std::string IdOf(const Html& section) {
  constexpr std::string_view kBefore = " id='";
  const std::size_t at = section.text.find(kBefore);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kBefore.size();
  return section.text.substr(begin, section.text.find('\'', begin) - begin);
}

/// Links to the sections that have content.
Html Contents(const std::vector<std::pair<std::string_view, Html>>& sections) {
  Html links;
  for (const auto& [name, section] : sections) {
    const std::string id = IdOf(section);
    if (!id.empty()) links += Markup("<li><a href='#", id, "'>", name, "</a></li>");
  }
  return Markup("<nav class='contents' aria-label='Contents'><ul>", links, "</ul></nav>");
}

}  // namespace

std::string RenderReport(const ReportInput& input) {
  const std::vector<ReportMark> marks = ReportMarks(input);
  // The sections of the page with their names in the contents, in order.
  const std::vector<std::pair<std::string_view, Html>> sections = {
      {"search", Charts(input, marks)},
      {"finalists", FinalistSection(input)},
      {"samples that changed", ChangedSection(input)},
      {"how to ship it", ShippingSection(input)},
      {"layers", LayerSection(input)},
      {"time", BreakdownSection(input)},
      {"why each decision", DecisionSection(input, marks)},
      {"which decisions matter", ImportanceSection(input, marks)},
      {"estimates", PredictionSection(input, marks)},
      {"choices and results", ParallelSection(input, marks)},
      {"Pareto set", FrontSection(input, marks)},
      {"sources", SourceSection(input, marks)},
      {"workers", TimelineSection(input, marks)},
      {"failures", FailureSection(input)},
      {"how to reproduce", OriginSection(input)},
      {"all trials", TrialSection(input, marks)}};
  Html body = Markup(HeadlineSection(input, marks), Contents(sections));
  for (const auto& [name, section] : sections) body += section;
  return ScriptedPage(input.model + " \xC2\xB7 MSCGym report", body);
}

}  // namespace msc::gym
