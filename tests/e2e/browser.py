"""Headless Chromium with real keys, through the pipe of its developer tools: nothing but Python's own
library is needed. A page that is open says what it logged, asked the network for, and tells a screen
reader."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time

DEADLINE_S = 60
# What the keys that a reader presses are to Chromium.
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


def chromium():
    """Its path; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One tab. `folder` is for its profile."""

    def __init__(self, folder):
        self.number = 0
        self.buffer = b""
        self.events = []
        self.session = None
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]

        def connect():
            # Chromium reads commands from 3 and answers on 4.
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe",
             "--user-data-dir=" + folder, "--window-size=1200,1000", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=connect)
        for end in (to_read, to_write, *ends):
            os.close(end)
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)

    def message(self):
        """The next that Chromium says."""
        end = time.monotonic() + DEADLINE_S
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self.back, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("chromium has ended" if ready else "chromium says nothing")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path):
        """Returns when the page has loaded. Forgets what the page before it did."""
        self.events = []
        self.call("Page.navigate", url="file://" + path)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def value(self, script):
        """Of an expression on the page, which its policy has no say in."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=KEYS[key], **text)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)

    def media(self, kind, dark=False):
        """`kind` is screen or print."""
        self.call("Emulation.setEmulatedMedia", media=kind, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self):
        """The whole page as a PNG in Base64."""
        return self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]

    def logged(self):
        """Errors, warnings and all else on the console."""
        return [event["params"] for event in self.events
                if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                       "Log.entryAdded")]

    def requested(self):
        """Addresses that the page had, or tried to have, from anywhere but itself."""
        urls = [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def read_aloud(self):
        """Role, name and whether Tab reaches it, of all that a screen reader is told of."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        told = []
        for node in nodes:
            if node["ignored"]:
                continue
            properties = {each["name"]: each["value"].get("value") for each in node["properties"]}
            told.append((node["role"]["value"], node.get("name", {}).get("value", "").strip(),
                         properties.get("focusable", False)))
        return told
