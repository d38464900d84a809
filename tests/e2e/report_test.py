"""The pages that a search leaves, as a reader has them who has keys and no network."""

import os
import shutil
import tempfile
import unittest

import browser
import e2e

TRIALS = 5
# What has the focus: its element, and its name or else its text.
FOCUSED = """(each => [each.tagName.toLowerCase(),
  (each.getAttribute("aria-label") || each.textContent).split("\\n")[0]])(document.activeElement)"""
# How many points of each chart are in it and seen, and how long its lines are.
DRAWN = """Array.from(document.querySelectorAll(".plot"), (plot) => {
  const box = plot.getBoundingClientRect();
  const seen = Array.from(plot.querySelectorAll(".mark"), (mark) => mark.getBoundingClientRect())
    .filter((mark) => mark.width > 0 && mark.left >= box.left - 9 && mark.right <= box.right + 9 &&
                      mark.top >= box.top - 9 && mark.bottom <= box.bottom + 9);
  const lines = Array.from(plot.querySelectorAll("path.line"), (path) => path.getTotalLength());
  return {id: plot.id, height: box.height, marks: seen.length, lines};
})"""


@unittest.skipUnless(browser.chromium(), "chromium is not installed")
class Pages(e2e.SearchTest):
    @classmethod
    def setUpClass(cls):
        cls.runs = {}
        cls.shared = tempfile.mkdtemp(prefix="msc_e2e_report_")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.tab = browser.Browser(self.at("profile"))
        self.addCleanup(self.tab.close)

    def run_of(self, agent):
        """A search, which all tests here look at."""
        if agent not in self.runs:
            config = {**e2e.small_config(), "trials": TRIALS, "agent": agent}
            run = os.path.join(self.shared, agent)
            self.succeed("search", self.write(agent + ".json", config), "--out", run)
            self.runs[agent] = run
        return self.runs[agent]

    def page_of_one(self):
        return os.path.join(self.run_of("random"), "report.html")

    def page_of_two(self):
        page = self.at("agents.html")
        self.succeed("report", self.run_of("random"), self.run_of("grid"), "--out", page)
        return page

    def open(self, page):
        """It runs its script, logs nothing, and wants nothing but itself."""
        self.tab.open(page)
        self.assertEqual(self.tab.value("document.documentElement.dataset.ready"), "yes")
        self.assertEqual(self.tab.logged(), [])
        self.assertEqual(self.tab.requested(), ["file://" + page])

    def stops(self):
        """What Tab reaches, in order, until it leaves the page."""
        found = []
        while True:
            self.tab.press("Tab")
            at = self.tab.value(FOCUSED)
            if at[0] == "body" or len(found) > 300:
                return found
            found.append(at)

    def test_one_search_is_drawn(self):
        self.open(self.page_of_one())
        charts = {chart["id"]: chart for chart in self.tab.value(DRAWN)}
        self.assertEqual(charts["history"]["marks"], TRIALS)
        self.assertEqual(charts["scatter"]["marks"], TRIALS)
        for name in ("history", "scatter"):
            self.assertGreater(charts[name]["height"], 100)
            self.assertGreater(min(charts[name]["lines"]), 100)

    def test_the_pareto_set_keeps_the_limits(self):
        kept = e2e.pareto(self.run_of("random"))
        self.assertTrue(kept)
        self.assertEqual([trial["feasible"] for trial in kept], [True] * len(kept))
        config = {**e2e.small_config(), "trials": TRIALS, "agent": "random"}
        config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {"latency": 0.0001}}
        run = self.at("none")
        self.assertEqual(self.mscgym("search", self.write("none.json", config), "--out",
                                     run).returncode, 3)
        missed = e2e.pareto(run)
        self.assertTrue(missed)
        self.assertEqual([trial["feasible"] for trial in missed], [False] * len(missed))
        self.open(os.path.join(run, "report.html"))
        self.assertIn("No trial keeps the limits", self.tab.value("document.body.textContent"))
        self.assertEqual(
            self.tab.value("document.querySelectorAll('#front tbody tr.infeasible').length"),
            len(missed))
        # What is sought and what is limited are the axes.
        titles = "Array.from(document.querySelectorAll('#%s text.title'), each => each.textContent)"
        self.assertEqual(self.tab.value(titles % "scatter"),
                         ["weights (MB)", "latency relative to the uncompressed model"])
        self.assertEqual(self.tab.value(titles % "history"), ["trial", "weights (MB)"])
        self.assertIn("misses latency <= 0.0001",
                      self.tab.value("document.querySelector('#trials').textContent"))

    def test_a_comparison_is_drawn(self):
        self.open(self.page_of_two())
        charts = self.tab.value(DRAWN)
        self.assertEqual([chart["id"] for chart in charts], ["by-trial", "by-time"])
        for chart in charts:
            self.assertGreater(chart["height"], 100)
            self.assertEqual(len(chart["lines"]), 2)
            self.assertGreater(min(chart["lines"]), 10)
            self.assertGreaterEqual(chart["marks"], 2)
        self.assertEqual(self.tab.value("document.querySelectorAll('#searches tbody tr').length"), 2)

    def test_a_comparison_is_used_by_keys(self):
        self.open(self.page_of_two())
        self.tab.press("Tab")
        self.tab.press("Home")
        first = self.tab.value(FOCUSED)
        self.assertRegex(first[1], r"^(random|grid) · trial \d+$")
        self.assertEqual(self.tab.value("document.getElementById('tip').textContent.split('\\n')[0]"),
                         first[1])
        self.assertEqual(self.tab.value("document.querySelectorAll('#by-time .hot').length"), 1)
        self.tab.press("ArrowRight")
        self.assertNotEqual(self.tab.value(FOCUSED), first)
        self.tab.press("Escape")
        self.assertTrue(self.tab.value("document.getElementById('tip').hidden"))
        order = ("Array.from(document.querySelectorAll('#searches tbody tr'),"
                 "(row) => row.cells[1].textContent)")
        self.assertEqual(self.tab.value(order), ["random", "grid"])
        while self.tab.value(FOCUSED) != ["button", "agent"]:
            self.tab.press("Tab")
        self.tab.press("Enter")
        self.assertEqual(self.tab.value(order), ["grid", "random"])

    def test_a_chart_is_one_stop(self):
        for page, charts in ((self.page_of_one(), ("svg", "g")), (self.page_of_two(), ("svg", "g"))):
            with self.subTest(page=os.path.basename(page)):
                self.open(page)
                stops = self.stops()
                self.assertGreater(len(stops), 10)
                self.assertLess(len(stops), 300)
                self.assertFalse([stop for stop in stops if stop[0] in charts], "not a chart itself")
                marks = self.tab.value("document.querySelectorAll('.plot').length")
                shapes = ("circle", "polygon", "path", "rect", "text")
                self.assertEqual(len([stop for stop in stops if stop[0] in shapes]), marks)


if __name__ == "__main__":
    e2e.main()
