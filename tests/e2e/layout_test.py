"""No page cuts off text, prints it over other text, or draws a line through it: on a wide screen, on a
phone and on paper, in the light and in the dark."""

import os
import subprocess
import tempfile
import unittest

import browser
import e2e
import page_faults

FAULTY = {
    "cut off": "<div style='width:40px;overflow:hidden;white-space:nowrap'>a long text</div>",
    "over": "<p>below</p><p style='margin-top:-34px'>above</p>",
    "beyond the edge": "<p style='white-space:nowrap'>" + 400 * "word " + "</p>",
    "beyond its box": "<div style='border:1px solid;width:30px'>unbreakable</div>",
    "crossed by": "<svg width='200' height='40'><text x='10' y='24'>label</text>"
                  "<line x1='0' x2='200' y1='20' y2='20' stroke='red'/></svg>",
    "too small": "<p style='font-size:4px'>small print</p>",
}


@unittest.skipUnless(browser.chromium(), "chromium is not installed")
class Layout(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # pylint: disable=consider-using-with
        self.addCleanup(profile.cleanup)
        self.tab = browser.Browser(profile.name)
        self.addCleanup(self.tab.close)

    def faults(self, page, view):
        page_faults.show(self.tab, page, view)
        return page_faults.find(self.tab, view)

    def check(self, page):
        for view in page_faults.VIEWS:
            with self.subTest(page=os.path.basename(page), view=view):
                self.assertEqual(self.faults(page, view), [])

    def test_faults_are_found(self):
        for kind, body in FAULTY.items():
            page = self.write("faulty.html", "<!DOCTYPE html><meta charset='utf-8'><body>" + body)
            with self.subTest(kind=kind):
                self.assertIn(kind, "\n".join(self.faults(page, "wide")))
        scrolled = "<div style='overflow:auto;width:90px;white-space:nowrap'>what one scrolls to</div>"
        page = self.write("scrolled.html", "<!DOCTYPE html><meta charset='utf-8'><body>" + scrolled)
        self.assertEqual(self.faults(page, "phone"), [])
        self.assertIn("cut off", "\n".join(self.faults(page, "print")))

    def test_pages_that_are_hard_to_lay_out(self):
        subprocess.run([os.environ["MSC_HARD_PAGES"], self.folder], check=True)
        pages = sorted(name for name in os.listdir(self.folder) if name.endswith(".html"))
        self.assertGreater(len(pages), 4)
        for page in pages:
            self.check(self.at(page))

    def test_a_search_with_pictures(self):
        # native has int8 on every CPU, and a search for small weights ends in it.
        config = {**e2e.small_config(), "trials": 3, "finalists": 1, "estimate_s": 0, "target": "native",
                  "objective": {"minimize": ["weight_bytes"], "subject_to": {"disagreement": 100}}}
        run = self.at("run")
        self.succeed("search", self.write("config.json", config), "--out", run)
        page = os.path.join(run, "report.html")
        self.check(page)
        both = self.at("both.html")
        self.succeed("report", run, run, "--out", both)
        self.check(both)
        page_faults.show(self.tab, page, "wide")
        # All pictures are seen, and all links of the page lead somewhere.
        wide = "Array.from(document.images, (each) => each.complete && each.naturalWidth > 4)"
        pictures = self.tab.value(wide)
        self.assertTrue(pictures)
        self.assertTrue(all(pictures))
        links = "Array.from(document.querySelectorAll('a'), (each) => each.getAttribute('href'))"
        for link in self.tab.value(links):
            if link.startswith("#"):
                self.assertTrue(self.tab.value(f"document.querySelector('{link}') !== null"), link)
            else:
                self.assertTrue(os.path.exists(os.path.join(run, link)), link)
        self.commands_work(run)

    def commands_work(self, run):
        """Those of 'How to ship it', as a reader copies them."""
        lines = self.tab.value("Array.from(document.querySelectorAll('#ship code'), each => each.textContent)")
        self.assertGreater(len(lines), 3)
        for line in lines:
            if not line.startswith("mscgym ") or " bench " in line:
                continue  # bench takes long; Python may lack ONNX Runtime
            with self.subTest(line=line):
                done = subprocess.run(line.replace("mscgym", e2e.MSCGYM, 1), shell=True, cwd=self.folder,
                                      capture_output=True, text=True, timeout=e2e.DEADLINE_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_pages_of_tools(self):
        model = e2e.small_config()["model"]
        data = e2e.small_config()["calibration"]["data"]["images"]
        page = self.at("quantize.html")
        self.succeed("quantize", model, "--calibration", data, "--samples", "32", "--page", page, "--out",
                     self.at("strategy.json"), *e2e.ANY_MODEL)
        self.check(page)
        page = self.at("sensitivity.html")
        self.succeed("quantize", model, "--calibration", data, "--samples", "32", "--page", page, "--test", data,
                     "--test-samples", "32", "--sensitivity", self.at("sensitivity.csv"), *e2e.ANY_MODEL)
        self.check(page)
        page = self.at("prune.html")
        self.succeed("prune", model, "--macs", "0.5", "--page", page, "--save-plan", self.at("plan.json"))
        self.check(page)
        page = self.at("track.html")
        done = self.succeed("track", model, "--targets", "native", "--random", "3", "--page", page)
        self.assertTrue(done.stdout.startswith("Outputs hold: "), done.stdout[:200])
        self.check(page)
        self.assertIn("No value departs", self.tab.value("document.querySelector('.verdict').textContent"))


if __name__ == "__main__":
    e2e.main()
