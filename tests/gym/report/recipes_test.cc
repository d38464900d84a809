#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/report/report.h"
#include "tests/gym/report/sample_report.h"

// The page of a search of recipes, which has no speed and no layers.

namespace msc::gym {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string SectionOf(const std::string& html, const std::string& id) {
  const std::size_t from = html.find("<section id='" + id + "'");
  return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
}

TEST(RecipeReport, SaysTheBestRecipeInWordsBesideTheBaselines) {
  const std::string html = RenderReport(SampleRecipes());
  const std::string header = html.substr(0, html.find("</header>"));
  EXPECT_THAT(header, HasSubstr("The best recipe: 8 epochs, rate 0.001, cosine schedule."));
  EXPECT_THAT(header, HasSubstr("<dt>distillation loss</dt><dd><strong>0.001234 "
                                "<span class='unit'>nats</span></strong><small>baselines: short "
                                "0.00475</small>"));
  EXPECT_THAT(header, HasSubstr("<dt>training steps</dt><dd><strong>160 "));
  EXPECT_THAT(header, HasSubstr("16 feasible, 8 failed"));
  EXPECT_THAT(header, Not(HasSubstr("<dt>Accuracy</dt>")));
  ReportInput judged = SampleRecipes();
  judged.headline.accuracy_drop = 0.5;
  EXPECT_THAT(RenderReport(judged), HasSubstr("<dt>Accuracy</dt><dd><strong>\xE2\x88\x92"
                                              "0.50 "));
}

TEST(RecipeReport, SaysWhereThereIsNoneOrTheSearchWasCutShort) {
  ReportInput input = SampleRecipes();
  input.headline.unfinished = true;
  EXPECT_THAT(RenderReport(input), HasSubstr("The search was not finished."));
  input.headline.unfinished = false;
  input.winner.reset();
  input.study.best.reset();
  EXPECT_THAT(RenderReport(input), HasSubstr("No recipe was found."));
}

TEST(RecipeReport, HasNoPartsOfAModelAndNoneOfItsWords) {
  const std::string html = RenderReport(SampleRecipes());
  const std::string body =
      html.substr(html.find("<main>"), html.find("<script>") - html.find("<main>"));
  for (const char* section : {"layers", "breakdown", "finalists", "timeline"}) {
    EXPECT_EQ(SectionOf(html, section), "") << section;
  }
  for (const char* word :
       {"peed", "atency", "uncompressed", "order of the network", "class='strip", "loss alone"}) {
    EXPECT_THAT(body, Not(HasSubstr(word)));
  }
  for (const char* section :
       {"decisions", "importance", "threads", "front", "failures", "trials"}) {
    EXPECT_NE(SectionOf(html, section), "") << section;
  }
}

TEST(RecipeReport, ShowsMeansAndIntervalsOfThoseTrainedAgain) {
  ReportInput input = SampleRecipes();
  input.final_axes = {input.latency, input.quality};
  const std::uint64_t winner = input.winner.value();
  input.finalists = {
      {.label = "trial 1",
       .feasible = false,
       .note = "8 epochs; 1 of 3 trainings failed: <b>",
       .trial = winner + 1,
       .means = {std::nullopt, Measured{160, 160, 160}}},
      {.label = "the winner",
       .note = "8 epochs, rate 0.001",
       .trial = winner,
       .means = {Measured{0.002, 0.001, 0.003}, Measured{160, 160, 160}}},
  };
  input.judged = "judged on all 200 samples, including those of trials";
  const std::string html = RenderReport(input);
  const std::string section = SectionOf(html, "finalists");
  EXPECT_THAT(section, HasSubstr("judged on all 200 samples, including those of trials. Means"));
  EXPECT_THAT(section, HasSubstr("<tr class='is-best'><td class='name'>the winner"
                                 "<div class='note'>8 epochs, rate 0.001</div></td>"
                                 "<td class='num' data-value='0.002'>0.002000 (0.00100 to "
                                 "0.00300)</td>"));
  EXPECT_THAT(section, HasSubstr("data-value='160'>160</td>"));
  EXPECT_THAT(section, HasSubstr("aria-label='interval 0.00100 to 0.00300'"));
  EXPECT_THAT(section, HasSubstr("1 of 3 trainings failed: &lt;b&gt;"));
  EXPECT_THAT(section, Not(HasSubstr("peed")));
  EXPECT_THAT(section, Not(HasSubstr("baseline")));
  EXPECT_THAT(html, HasSubstr("<dt>distillation loss</dt><dd><strong>0.002000 <span class='unit'>"
                              "nats</span></strong><small>95 % interval 0.00100 to 0.00300; "
                              "baselines: short 0.00475</small>"));
}

TEST(RecipeReport, DrawsARecipeThatRuinsTheModelAtTheEdge) {
  ReportInput input = SampleRecipes();
  input.study.trials[7].evaluation.metrics["distill_loss"] = 50;
  const std::string html = RenderReport(input);
  const std::size_t from = html.find("id='history'");
  const std::string chart = html.substr(from, html.find("</svg>", from) - from);
  EXPECT_THAT(chart, HasSubstr(">0.004</text>"));
  EXPECT_THAT(chart, HasSubstr("h8l-4 -7z' class='mark feasible' data-trial='7'"));
}

TEST(RecipeReport, SaysWhatOtherChoicesDid) {
  const std::string log = SectionOf(RenderReport(SampleRecipes()), "decisions");
  EXPECT_THAT(log, HasSubstr("<td class='name'>learning rate</td>"));
  EXPECT_THAT(log, HasSubstr("<b>1 epoch</b> (trial 16) worse: distillation loss 0.004234 against "
                             "0.001234, training steps 20 against 160</li>"));
  EXPECT_THAT(log, HasSubstr("<b>rate 1</b> (trial 23) failed, wrong_output</li>"));
}

TEST(RecipeReport, SpellsOutTheParetoSet) {
  const std::string front = SectionOf(RenderReport(SampleRecipes()), "front");
  EXPECT_THAT(front, HasSubstr("<td>8 epochs, rate 0.001, cosine schedule</td>"));
  EXPECT_THAT(front, HasSubstr("<td>1 epoch, rate 0.001, cosine schedule</td>"));
  EXPECT_THAT(front, HasSubstr("<td class='num'>0.004234</td>")) << "three digits behind the point";
}

TEST(Report, SaysWhichChoicesOfTheWinnerHaveNoEffect) {
  ReportInput input = SampleRecipes();
  input.subject = ReportSubject::kModel;
  input.moot = {"", "nothing is trained"};
  const std::string log = SectionOf(RenderReport(input), "decisions");
  EXPECT_THAT(log, HasSubstr("<td class='name'>learning rate</td><td><span class='muted'>no "
                             "effect: nothing is trained</span></td>"));
  EXPECT_THAT(log, HasSubstr("cosine schedule</span></td>")) << "beyond the list";
}

}  // namespace
}  // namespace msc::gym
