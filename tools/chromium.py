"""Drive a headless Chromium without a network, over its debugging pipe and with nothing but the standard library.

playwright would do the same, and adds 161 MB to the lock.
"""

import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",  # the discard port: nothing answers there
    "--remote-debugging-pipe",
    "about:blank",
)
READY = """(async () => {
  if (document.readyState !== "complete") await new Promise(done => addEventListener("load", done));
  if (document.querySelector(".math")) {
    for (let i = 0; i < 30 && !(window.MathJax && MathJax.startup && MathJax.startup.promise); i++)
      await new Promise(done => setTimeout(done, 50));
    if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  }
  document.querySelectorAll("img[loading=lazy]").forEach(image => image.loading = "eager");
  await Promise.all([...document.images].map(image => image.complete || new Promise(done => {
    image.onload = image.onerror = done;
  })));
  await document.fonts.ready;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
})()"""


def find_chromium() -> str | None:
    """Return the browser that CHROMIUM names, else the first on the PATH."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Page:
    """What was seen while one page loaded and settled."""

    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Chromium:
    """One browser with one tab; a context manager."""

    def __init__(self, program: str, seconds: float = 60.0) -> None:
        self.program, self.seconds = program, seconds
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.events: list[dict[str, Any]] = []
        self.session: str | None = None

    def __enter__(self) -> "Chromium":
        self.profile = tempfile.mkdtemp(prefix="fairbook-browser-")
        # Chromium reads commands from descriptor 3 and answers on 4. Ours are moved out of their way first.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (*os.pipe(), *os.pipe())]
        commands_out, self.commands, self.answers, answers_in = ends
        script = f'exec "$0" "$@" 3<&{commands_out} 4>&{answers_in}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, self.program, f"--user-data-dir={self.profile}", *FLAGS],
            pass_fds=(commands_out, answers_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_out)
        os.close(answers_in)
        tabs = self.send("Target.getTargets")["targetInfos"]
        tab = next(tab["targetId"] for tab in tabs if tab["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        # The theme keeps where its sidebar was scrolled to. Every page here is the first that its reader opens.
        forget = "if (location.protocol === 'file:') sessionStorage.clear()"
        self.send("Page.addScriptToEvaluateOnNewDocument", source=forget)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline: float) -> dict[str, Any]:
        """Return the next message; raise TimeoutError past the deadline."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise TimeoutError(f"{self.program} did not answer within {self.seconds:g} s")
            chunk = os.read(self.answers, 1 << 20)
            if not chunk:
                raise ConnectionError(f"{self.program} ended with code {self.process.wait(10)}")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result; events that come meanwhile are kept."""
        number, deadline = next(self.numbers), time.monotonic() + self.seconds
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page, awaiting promises, and return its value."""
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def look(self, width: int = 1400, height: int = 1000, scheme: str = "light", still: bool = False) -> None:
        """Set the window's size, the colour scheme that the reader prefers, and whether nothing should move."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce" if still else "no-preference"}
        self.send("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in features.items()])

    def open(self, url: str) -> Page:
        """Open a page, wait until it is loaded and typeset, and return what happened on the way."""
        self.events.clear()
        answer = self.send("Page.navigate", url=url)
        if answer.get("errorText"):
            raise RuntimeError(f"{url}: {answer['errorText']}")
        deadline = time.monotonic() + self.seconds
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            message = self.receive(deadline)
            if "method" in message:
                self.events.append(message)
        self.evaluate(READY)
        return self.seen()

    def seen(self) -> Page:
        """Return the requests, failures and errors since the page was opened."""
        page, addresses = Page(), {}
        for event in self.events:
            method, details = event["method"], event["params"]
            if method == "Network.requestWillBeSent":
                addresses[details["requestId"]] = details["request"]["url"]
                page.requests.append(details["request"]["url"])
            elif method == "Network.loadingFailed":
                page.failed.append(f"{addresses.get(details['requestId'])}: {details['errorText']}")
            elif method == "Runtime.exceptionThrown":
                thrown = details["exceptionDetails"]
                page.errors.append(thrown.get("exception", {}).get("description") or thrown["text"])
            elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert"):
                page.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in details["args"]))
            elif method == "Log.entryAdded" and details["entry"]["level"] == "error":
                page.errors.append(f"{details['entry']['text']} {details['entry'].get('url', '')}".strip())
        return page
