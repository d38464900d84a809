#include <algorithm>

#include "gym/report/sections.h"

namespace msc::gym {

namespace {

/// Returns whether all letters are those of Base64, so that they need no escape in an address.
bool IsBase64(const std::string& text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=';
  });
}

Html Line(std::string_view name, const std::string& text) {
  return text.empty() ? Html{} : Markup("<div><dt>", name, "</dt><dd>", text, "</dd></div>");
}

Html Card(const ReportSample& sample) {
  Html picture;
  if (!sample.picture.empty() && IsBase64(sample.picture)) {
    picture = Markup("<img alt='", sample.name, "' src='data:image/png;base64,",
                     Html{sample.picture}, "'>");
  }
  return Markup("<li>", picture, "<div><strong>", sample.name, "</strong><dl>",
                Line("changed by", sample.change), Line("before", sample.before),
                Line("after", sample.after), Line("label", sample.label),
                Line("tokens", sample.tokens), "</dl></div></li>");
}

}  // namespace

Html ChangedSection(const ReportInput& input) {
  if (input.changed.empty()) return {};
  Html cards;
  for (const ReportSample& sample : input.changed) cards += Card(sample);
  return Markup(
      "<section id='changed'><h2>Samples that changed most</h2><p class='muted'>Of the samples "
      "that "
      "judged the best configuration, those whose outputs differ most from the uncompressed "
      "model's, the most changed one first.</p><ul class='samples'>",
      cards, "</ul></section>");
}

}  // namespace msc::gym
