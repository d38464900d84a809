#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "gym/report/assets.h"
#include "gym/report/layer_page.h"
#include "gym/report/partition_page.h"
#include "tests/gym/report/sample_report.h"

// Opens a report in a real browser, without a screen and without a network.

namespace msc::gym {
namespace {

namespace fs = std::filesystem;

std::string Chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser"}) {
    if (fs::exists(path)) return path;
  }
  return "";
}

struct Visit {
  std::string dom;
  int status = 0;
};

/// The document after its script has run.
Visit Open(const fs::path& folder, const std::string& html) {
  fs::create_directories(folder);
  const std::string page = (folder / "report.html").string();
  WriteFileAtomic(page, html);
  const std::string command =
      "timeout 60 " + Chromium() +
      " --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
      " --user-data-dir='" +
      (folder / "profile").string() + "' --dump-dom 'file://" + page + "' 2>'" +
      (folder / "stderr").string() + "'";
  Visit visit;
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): a fixed command
  if (pipe == nullptr) return {"", -1};
  std::array<char, 65536> chunk{};
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    visit.dom.append(chunk.data(), got);
  }
  visit.status = pclose(pipe);
  return visit;
}

class ReportInABrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (Chromium().empty()) GTEST_SKIP() << "chromium is not installed";
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / "msc_report" / info->name();
    fs::remove_all(folder_);
  }
  void TearDown() override {
    std::error_code ignored;  // the browser may still be letting go of its profile
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
};

TEST_F(ReportInABrowser, RunsItsScriptWithoutErrorsAndShowsItsParts) {
  ReportInput input = SampleReport();
  input.tasks = {{.worker = 1, .trial = 0, .from = 1, .to = 2, .end = "result"}};
  const Visit visit = Open(folder_, RenderReport(input));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-ready=\"yes\""), std::string::npos);
  EXPECT_EQ(visit.dom.find("data-error"), std::string::npos);
  // Made by the script: a button in each sortable column head.
  EXPECT_NE(visit.dom.find("<button type=\"button\">share of time</button>"), std::string::npos);
  for (const char* part :
       {"id=\"history\"", "id=\"scatter\"", "id=\"finalists\"", "id=\"layers\"", "id=\"decisions\"",
        "id=\"front\"", "id=\"timeline\"", "id=\"trials\""}) {
    EXPECT_NE(visit.dom.find(part), std::string::npos) << part;
  }
}

TEST_F(ReportInABrowser, ShowsASearchOfRecipes) {
  const Visit visit = Open(folder_, RenderReport(SampleRecipes()));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-ready=\"yes\""), std::string::npos);
  EXPECT_EQ(visit.dom.find("data-error"), std::string::npos);
  EXPECT_NE(visit.dom.find("<button type=\"button\">training steps</button>"), std::string::npos);
}

TEST_F(ReportInABrowser, RunsNoScriptThatANameBringsAlong) {
  ReportInput input = SampleReport(10);
  const std::string attack =
      "</script></style><img src=x onerror=\"document.documentElement.dataset.owned='yes'\">"
      "<script>document.documentElement.dataset.owned='yes'</script>";
  input.model = attack;
  for (ReportLayer& layer : input.layers) layer.name = attack;
  for (ReportFact& fact : input.machine) fact.value = "'\" onmouseover='" + attack;
  const Visit visit = Open(folder_, RenderReport(input));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-ready=\"yes\""), std::string::npos);
  EXPECT_EQ(visit.dom.find("data-owned"), std::string::npos);
  EXPECT_EQ(visit.dom.find("<img"), std::string::npos);
}

TEST_F(ReportInABrowser, LetsNoScriptRunButItsOwn) {
  // Even if escaping failed, the page's policy stands in the way.
  std::string html = RenderReport(SampleReport(10));
  const std::string foreign = "<script>document.documentElement.dataset.owned='yes'</script>";
  html.insert(html.find("</main>"), foreign);
  const Visit visit = Open(folder_, html);
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-ready=\"yes\""), std::string::npos);
  EXPECT_EQ(visit.dom.find("data-owned=\"yes\""), std::string::npos);
}

/// The page with its policy taken off and `driver` run after its own script.
std::string Driven(std::string html, const std::string& driver) {
  const std::size_t policy = html.find("<meta http-equiv");
  html.erase(policy, html.find('>', policy) + 1 - policy);
  html.insert(html.rfind("</body>"), "<script>" + driver + "</script>");
  return html;
}

TEST_F(ReportInABrowser, SortsATableByTheNumbersOfAColumn) {
  ReportInput input = SampleReport();
  // Sorted as text these would be 0.5, 10, 9; what is absent comes last in both directions.
  input.layers.resize(4);
  const std::array<std::optional<double>, 4> values = {9, std::nullopt, 10, 0.5};
  for (std::size_t i = 0; i < 4; ++i) {
    input.layers[i].name = "layer" + std::to_string(i);
    input.layers[i].sensitivity = values[i];
  }
  const Visit visit = Open(folder_, Driven(RenderReport(input), R"(
    const table = document.querySelector("#layers table");
    const order = () => Array.from(table.tBodies[0].rows, (row) => row.cells[1].textContent).join();
    table.tHead.rows[0].cells[7].querySelector("button").click();
    document.body.dataset.up = order();
    table.tHead.rows[0].cells[7].querySelector("button").click();
    document.body.dataset.down = order();)"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-up=\"layer3,layer0,layer2,layer1\""), std::string::npos);
  EXPECT_NE(visit.dom.find("data-down=\"layer2,layer0,layer3,layer1\""), std::string::npos);
}

TEST_F(ReportInABrowser, LetsNoNoteWidenATable) {
  ReportInput input = SampleReport();
  input.finalists[1].note = std::string(500, 'x');
  const Visit visit = Open(folder_, Driven(RenderReport(input), R"(
    const widths = Array.from(document.querySelectorAll("#finalists .note"),
      (note) => note.getBoundingClientRect().width);
    document.body.dataset.narrow = Math.max(...widths) <= 400 && widths.length === 3;)"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-narrow=\"true\""), std::string::npos);
}

TEST_F(ReportInABrowser, ShowsATrialWhereverThePointerIs) {
  const Visit visit = Open(folder_, Driven(RenderReport(SampleReport()), R"(
    const mark = document.querySelector("#scatter .best");
    mark.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: 9, clientY: 9}));
    document.body.dataset.tip = document.getElementById("tip").textContent.split("\n")[0];
    document.body.dataset.hot = document.querySelectorAll("#history .hot").length;)"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-tip=\"trial 105 \xC2\xB7 evolutionary\""), std::string::npos);
  EXPECT_NE(visit.dom.find("data-hot=\"1\""), std::string::npos);
}

TEST_F(ReportInABrowser, CanBeUsedByKeys) {
  const Visit visit = Open(folder_, Driven(RenderReport(SampleReport()), R"(
    const data = document.body.dataset;
    const tip = document.getElementById("tip");
    const press = (key) => document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    const on = () => document.activeElement.dataset.trial;
    const chart = document.querySelector("#history");
    data.stops = Array.from(document.querySelectorAll(".plot, .strip"),
      (each) => each.querySelectorAll("[tabindex='0']").length).join("");
    chart.querySelector("[tabindex='0']").focus();
    data.first = on() + " " + tip.hidden;
    press("Home");
    data.home = on();
    press("ArrowLeft");
    data.edge = on();
    press("ArrowRight");
    press("ArrowRight");
    data.third = on() + " " + tip.textContent.split(" \u00b7")[0];
    data.moved = chart.querySelectorAll("[tabindex='0']").length + " " +
      document.activeElement.getAttribute("tabindex");
    data.label = document.activeElement.getAttribute("aria-label").split(" \u00b7")[0];
    press("Escape");
    data.closed = tip.hidden;
    press("End");
    data.last = on();
    document.querySelector("#layers .cell").focus();
    data.layer = tip.textContent.split("\n")[0];)"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_EQ(visit.dom.find("data-error"), std::string::npos);
  const auto has = [&](const std::string& attribute) {
    return visit.dom.find(" data-" + attribute) != std::string::npos;
  };
  const std::size_t stops = visit.dom.find(" data-stops=\"");
  ASSERT_NE(stops, std::string::npos);
  const std::string ones =
      visit.dom.substr(stops + 13, visit.dom.find('"', stops + 13) - stops - 13);
  EXPECT_GE(ones.size(), 5U);
  EXPECT_EQ(ones.find_first_not_of('1'), std::string::npos) << "one stop a chart, not " << ones;
  EXPECT_TRUE(has("first=\"105 false\""));
  EXPECT_TRUE(has("home=\"0\""));
  EXPECT_TRUE(has("edge=\"0\""));
  EXPECT_TRUE(has("third=\"2 trial 2\""));
  EXPECT_TRUE(has("moved=\"1 0\""));
  EXPECT_TRUE(has("label=\"trial 2\""));
  EXPECT_TRUE(has("closed=\"true\""));
  EXPECT_TRUE(has("last=\"119\""));
  EXPECT_TRUE(has("layer=\"/stage0/block0/Conv\""));
}

TEST_F(ReportInABrowser, ZoomsAChartByKeysAndDrawsItsAxesAnew) {
  if (ChartLibrary().empty()) GTEST_SKIP() << "built without D3";
  const Visit visit = Open(folder_, Driven(RenderReport(SampleReport()), R"(
    const data = document.body.dataset;
    const chart = document.querySelector("#scatter");
    const best = chart.querySelector(".best");
    const press = (key, shiftKey = false) => document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", {key, shiftKey, bubbles: true, cancelable: true}));
    const ticks = () => Array.from(chart.querySelectorAll(".axis .tick text"), (each) => each.textContent).join();
    const at = (node) => {  // in the chart: what has the focus scrolls the page
      const box = node.getBoundingClientRect();
      const all = chart.getBoundingClientRect();
      return Math.round(box.left - all.left) + " " + Math.round(box.top - all.top);
    };
    const width = (node) => node.getBoundingClientRect().width.toFixed(1);
    const front = chart.querySelector(".front-line");
    best.focus();
    const before = [ticks(), at(best), width(best), width(front)];
    press("+"); press("+"); press("+"); press("+");
    data.ticks = ticks() !== before[0] && ticks().split(",").length > 4;
    data.stays = at(best) === before[1];
    data.size = width(best) === before[2];
    data.wider = Number(width(front)) > 2 * Number(before[3]);
    data.away = chart.querySelectorAll(".mark.away").length > 20;
    press("ArrowLeft", true);
    data.panned = at(best) !== before[1] && document.activeElement === best;
    press("Home");
    data.seen = !document.activeElement.classList.contains("away");
    press("0");
    data.whole = [ticks(), at(best), width(best), width(front)].join() === before.join() &&
      chart.querySelectorAll(".mark.away").length === 0;
    chart.parentElement.nextElementSibling.querySelector("button").click();
    data.button = ticks() !== before[0];)"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_EQ(visit.dom.find("data-error"), std::string::npos);
  for (const char* fact :
       {"ticks", "stays", "size", "wider", "away", "panned", "seen", "whole", "button"}) {
    EXPECT_NE(visit.dom.find(" data-" + std::string(fact) + "=\"true\""), std::string::npos)
        << fact;
  }
}

TEST_F(ReportInABrowser, KeepsTrialsThatPassAStretchOfAnAxis) {
  if (ChartLibrary().empty()) GTEST_SKIP() << "built without D3";
  const ReportInput input = SampleReport();
  const Visit visit = Open(folder_, Driven(RenderReport(input), R"js(
    const data = document.body.dataset;
    const chart = document.querySelector("#parallel");
    const press = (key) => document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    const lines = () => Array.from(chart.querySelectorAll(".thread:not(.out)"), (line) => line.dataset.trial);
    const rows = () => Array.from(document.querySelectorAll("#trials tbody tr"))
      .filter((row) => !row.hidden).map((row) => row.dataset.trial);
    const all = [lines().length, rows().length];
    const titles = chart.querySelectorAll("[data-pole]");
    data.first = titles[0].dataset.tip;
    titles[0].focus();
    press("ArrowDown");  // the first choice, f32, lies at the bottom
    data.one = lines().sort((a, b) => a - b).join();
    data.same = lines().sort().join() === rows().sort().join();
    data.faded = document.querySelectorAll("#history .mark:not(.out)").length === lines().length;
    press("ArrowUp");
    data.next = lines().sort((a, b) => a - b).join();
    titles[titles.length - 2].focus();
    press("ArrowDown");  // and the faster half
    data.both = lines().length > 0 && lines().length < data.next.split(",").length;
    press("Escape");
    data.back = lines().length === all[0] && rows().length === all[1];)js"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_EQ(visit.dom.find("data-error"), std::string::npos);
  // Which decision the first axis shows.
  std::size_t pole = 0;
  while (visit.dom.find(" data-first=\"" + input.decisions.at(pole).name + "\"") ==
         std::string::npos) {
    ++pole;
  }
  const auto with = [&](std::int32_t choice) {
    std::string numbers;
    for (const Trial& trial : input.study.trials) {
      if (trial.evaluation.failure || trial.assignment[pole] != choice) continue;
      numbers += (numbers.empty() ? "" : ",") + std::to_string(trial.number);
    }
    return numbers;
  };
  EXPECT_NE(visit.dom.find(" data-one=\"" + with(0) + "\""), std::string::npos);
  EXPECT_NE(visit.dom.find(" data-next=\"" + with(1) + "\""), std::string::npos);
  for (const char* fact : {"same", "faded", "both", "back"}) {
    EXPECT_NE(visit.dom.find(" data-" + std::string(fact) + "=\"true\""), std::string::npos)
        << fact;
  }
}

TEST_F(ReportInABrowser, ShowsAPartition) {
  PartitionView view{.model = "net<script>.onnx",
                     .machine = "a CPU",
                     .summary = "plan 1 is fastest",
                     .boxes = {},
                     .turns = {{.tensor = "features<i>",
                                .from = "dense",
                                .to = "native:images=channels_last",
                                .micros = 7.25}},
                     .rows = {},
                     .facts = {"as measured"}};
  view.boxes = {{.target = "onednn",
                 .rule = "layer",
                 .nodes = {"conv (Conv)", "relu (Relu)"},
                 .micros = 12.5,
                 .alternative = "native",
                 .alternative_micros = 14.0,
                 .why = "1.12x as fast as the next",
                 .reads = {},
                 .bytes_out = 4096},
                {.target = "blas",
                 .rule = "node",
                 .nodes = {"fc \"<b>\" (Gemm)"},
                 .micros = 3.0,
                 .alternative = "",
                 .alternative_micros = {},
                 .why = "only one",
                 .reads = {0},
                 .bytes_out = 40}};
  view.rows = {{.name = "plan 1",
                .regions = 2,
                .predicted_micros = 15.5,
                .measured_micros = 16.0,
                .ratio = 0.9,
                .ratio_low = 0.88,
                .ratio_high = 0.93,
                .note = "",
                .best = true}};
  const Visit visit = Open(folder_, RenderPartition(view));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("<svg id=\"regions\""), std::string::npos);
  EXPECT_NE(visit.dom.find("<title>onednn, 12.50 µs; next best native, 14.00 µs"),
            std::string::npos)
      << "shown where one points";
  EXPECT_NE(visit.dom.find("fc \"&lt;b&gt;\" (Gemm)"), std::string::npos) << "names are text";
  EXPECT_NE(visit.dom.find("<line "), std::string::npos) << "who reads whom";
  EXPECT_NE(visit.dom.find("<td class=\"long\">features&lt;i&gt;</td><td>dense</td>"),
            std::string::npos);
  EXPECT_NE(visit.dom.find("7.250 µs"), std::string::npos) << "what turning it takes";
  EXPECT_EQ(visit.dom.find("<script"), std::string::npos);
  const std::string dot = PartitionDot(view);
  EXPECT_NE(dot.find("r0 -> r1 [label=\"4.1 kB\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("fc \\\"<b>\\\" (Gemm)"), std::string::npos) << dot;
}

TEST_F(ReportInABrowser, ColoursRegionsByTarget) {
  constexpr int kTargets = 20;
  PartitionView view{.model = "net.onnx",
                     .machine = "a CPU",
                     .summary = "",
                     .boxes = {},
                     .turns = {},
                     .rows = {},
                     .facts = {}};
  for (int i = 0; i < 2 * kTargets; ++i) {
    const std::string target = "target" + std::to_string(i % kTargets);
    view.boxes.push_back({.target = target,
                          .rule = "node",
                          .nodes = {"n (Relu)"},
                          .micros = 1.0,
                          .alternative = "",
                          .alternative_micros = {},
                          .why = "",
                          .reads = {},
                          .bytes_out = 0});
  }
  const Visit visit = Open(folder_, Driven(RenderPartition(view), R"(
    const colours = (what, property) => Array.from(document.querySelectorAll(what),
      (each) => getComputedStyle(each)[property]);
    const boxes = colours("#regions .region rect", "fill");
    const half = boxes.length / 2;
    const data = document.body.dataset;
    data.boxes = boxes.length;
    data.distinct = new Set(boxes).size;
    data.same = String(boxes.slice(0, half)) === String(boxes.slice(half));
    data.table = String(colours("#table span", "backgroundColor")) === String(boxes);)"));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("data-boxes=\"40\""), std::string::npos);
  EXPECT_NE(visit.dom.find("data-distinct=\"20\""), std::string::npos)
      << "targets have colours of their own";
  EXPECT_NE(visit.dom.find("data-same=\"true\""), std::string::npos) << "one target has one";
  EXPECT_NE(visit.dom.find("data-table=\"true\""), std::string::npos) << "in the table, too";
}

TEST_F(ReportInABrowser, ShowsTheLayersOfATool) {
  const LayerView view{
      .tool = "quantize",
      .model = "net<script>.onnx",
      .summary = "1 of 2 layers",
      .facts = {},
      .charts = {{.title = "Error",
                  .before = "rounded",
                  .after = "fitted",
                  .columns = {"bits"},
                  .rows = {{.name = "fc \"<b>\"", .before = 0.4, .after = 0.1, .cells = {"4"}},
                           {.name = "out",
                            .before = std::numeric_limits<double>::quiet_NaN(),
                            .after = std::nullopt,
                            .cells = {"32"},
                            .marked = true}}},
                 {.title = "Nothing", .before = "", .after = "none", .columns = {}, .rows = {}}}};
  const Visit visit = Open(folder_, RenderLayers(view));
  ASSERT_EQ(visit.status, 0);
  EXPECT_NE(visit.dom.find("class=\"before\" style=\"width:100.00%\""), std::string::npos)
      << "the largest bar is as long as can be";
  EXPECT_NE(visit.dom.find("class=\"after\" style=\"width:25.00%\""), std::string::npos)
      << "a quarter of it";
  EXPECT_NE(visit.dom.find("<td class=\"name\">fc \"&lt;b&gt;\"</td><td class=\"long\">4</td>"),
            std::string::npos)
      << "names are text";
  EXPECT_EQ(visit.dom.find("nan"), std::string::npos);
  EXPECT_EQ(visit.dom.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace msc::gym
