"""Faults of a page that only a browser shows: text that is cut off, printed over other text, or crossed
by a line.

    python3 tests/e2e/page_faults.py PAGE... [--pictures FOLDER]

prints the faults of each page in each VIEW, and makes a picture of each view (and a PDF).
"""

import argparse
import base64
import json
import os
import sys
import tempfile

import browser

# Width in pixels, whether the page is dark, and whether it is printed. 980 pixels are what the margins
# leave of a letter sheet that lies on its side; A4 is wider.
VIEWS = {"wide": (1400, False, False), "wide dark": (1400, True, False), "phone": (390, False, False),
         "phone dark": (390, True, False), "print": (980, False, True)}

FIND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_faults.js")


def show(tab, page, view):
    """Opens a page as `view` says."""
    width, dark, printed = VIEWS[view]
    tab.resize(width, 1000)
    tab.media("print" if printed else "screen", dark)
    tab.open(page)


def find(tab, view):
    """The faults of the page that is shown, as sentences."""
    with open(FIND, encoding="utf-8") as file:
        script = file.read()
    width, _, printed = VIEWS[view]
    return tab.value(f"{script}({json.dumps(printed)}, {json.dumps(width > 1000)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    parser.add_argument("--pictures", metavar="FOLDER")
    options = parser.parse_args()
    if browser.chromium() is None:
        sys.exit("chromium is not installed")
    count = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tab = browser.Browser(folder)
        try:
            for page in options.pages:
                for view in VIEWS:
                    show(tab, os.path.abspath(page), view)
                    faults = find(tab, view)
                    count += len(faults)
                    for fault in faults:
                        print(f"{page} ({view}): {fault}")
                    if options.pictures:
                        picture(tab, page, view, options.pictures)
        finally:
            tab.close()
    sys.exit(1 if count else 0)


def picture(tab, page, view, folder):
    os.makedirs(folder, exist_ok=True)
    stem = os.path.join(folder, os.path.splitext(os.path.basename(page))[0] + "_" + view.replace(" ", "_"))
    with open(stem + ".png", "wb") as file:
        file.write(base64.b64decode(tab.screenshot()))
    if VIEWS[view][2]:
        with open(stem + ".pdf", "wb") as file:
            file.write(base64.b64decode(tab.call("Page.printToPDF", preferCSSPageSize=True)["data"]))


if __name__ == "__main__":
    main()
