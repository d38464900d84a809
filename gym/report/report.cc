#include "gym/report/report.h"

#include <array>
#include <string_view>

#include "compiler/base/hash.h"
#include "gym/report/assets.h"
#include "gym/report/charts.h"
#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

std::uint32_t HexValue(char digit) {
  return static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/// Base64 (RFC 4648) of the bytes that `hex` spells.
std::string Base64OfHex(std::string_view hex) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  // 6 hex digits are 3 bytes are 4 letters.
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      bits = bits << 4U | (i + k < hex.size() ? HexValue(hex[i + k]) : 0U);
    }
    const std::size_t letters = i + 6 <= hex.size() ? 4 : (hex.size() - i) / 2 + 1;
    for (std::size_t k = 0; k < 4; ++k) {
      out += k < letters ? kLetters[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

/// Lets this script run and no other, and nothing be loaded from anywhere.
Html Policy() {
  return Markup(
      "<meta http-equiv='Content-Security-Policy' content='default-src &#39;none&#39;; "
      "style-src &#39;unsafe-inline&#39;; script-src &#39;sha256-",
      Base64OfHex(Sha256Hex(PageScript())), "&#39;'>");
}

Html Charts(const ReportInput& input, std::span<const ReportMark> marks) {
  if (marks.empty()) return Html{"<section><p>No trial has finished.</p></section>"};
  Html scatter;
  if (!input.quality.metric.empty()) {
    scatter = Markup("<figure><h2>",
                     input.subject == ReportSubject::kRecipe ? Html{"Trade-offs"}
                                                             : Html{"Speed against quality"},
                     "</h2><div class='scroll'>", ScatterChart(input, marks), "</div></figure>");
  }
  return Markup(
      "<section class='charts'><div class='pair'><figure><h2>The search</h2>"
      "<div class='scroll'>",
      HistoryChart(input, marks), "</div></figure>", scatter, "</div>", ChartLegend(),
      "</section>");
}

}  // namespace

std::string RenderReport(const ReportInput& input) {
  const std::vector<ReportMark> marks = Marks(input);
  const Html style{std::string(PageStyle())};
  const Html script{std::string(PageScript())};
  return Markup("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>", Policy(),
                "<meta name='viewport' content='width=device-width, initial-scale=1'>"
                "<title>",
                input.model, " \xC2\xB7 MSCGym report</title><style>", style,
                "</style></head><body><main>", HeadlineSection(input, marks), Charts(input, marks),
                FinalistSection(input), LayerSection(input), BreakdownSection(input),
                DecisionSection(input, marks), ImportanceSection(input, marks),
                ParallelSection(input, marks), FrontSection(input, marks),
                TimelineSection(input, marks), FailureSection(input), OriginSection(input),
                TrialSection(input, marks),
                "</main><div id='tip' role='tooltip' hidden></div><script>", script,
                "</script></body></html>\n")
      .text;
}

}  // namespace msc::gym
