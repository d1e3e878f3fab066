//! Chromium without a window, driven by its own protocol over a web socket.
//!
//! Clicks and keys go through the browser's input, like those of a user. Every script error, every message of the console and
//! every resource that could not be loaded is recorded ([`Browser::assert_no_problems`]).

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    process: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    last: u64,
    problems: Vec<String>,
    _profile: TempDir,
}

/// The name of the browser's binary, if there is one.
fn binary() -> Option<String> {
    let names = std::env::var("GRIDLOCK_CHROMIUM").into_iter();
    let names = names.chain(["chromium", "chromium-browser", "google-chrome"].map(str::to_owned));
    names.into_iter().find(|name| {
        let run = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    })
}

impl Browser {
    /// Starts the browser; `None` if there is none, which is printed.
    pub fn start() -> Option<Browser> {
        let Some(binary) = binary() else {
            // Not by a macro: those are silent in tests that pass.
            let _ = writeln!(std::io::stderr(), "\nSKIPPED: a test of a page, since there is no Chromium\n");
            return None;
        };
        let profile = TempDir::new().expect("a directory");
        let mut command = Command::new(binary);
        command.args([
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
        ]);
        // It does not run as root otherwise. What it is shown are our own pages.
        command.args(["--no-sandbox", "--remote-debugging-port=0", "--window-size=1400,900"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.expect("the browser starts");
        let place = eventually("the browser listens", || {
            fs::read_to_string(profile.path().join("DevToolsActivePort"))
                .ok()
                .filter(|text| text.lines().count() > 1)
        });
        let (port, path) = place.split_once('\n').expect("two lines");
        let stream =
            TcpStream::connect(("127.0.0.1", port.parse::<u16>().expect("a port"))).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let url = format!("ws://127.0.0.1:{port}{}", path.trim());
        let (socket, _) = tungstenite::client(url, stream).expect("a web socket");
        let (session, problems) = (None, Vec::new());
        let mut browser = Browser { process, socket, session, last: 0, problems, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "DOM"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).expect("the browser listens");
        loop {
            let Message::Text(text) = self.socket.read().expect("the browser answers") else { continue };
            let mut message: Value = serde_json::from_str(&text).expect("JSON");
            if message["id"] == json!(self.last) {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let is_problem = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                matches!(parameters["type"].as_str(), Some("error" | "warning" | "assert"))
            }
            Some("Log.entryAdded") => {
                matches!(parameters["entry"]["level"].as_str(), Some("error" | "warning"))
            }
            _ => false,
        };
        if is_problem {
            self.problems.push(parameters.to_string());
        }
    }

    /// Opens a page.
    pub fn open(&mut self, url: &str) {
        let opened = self.call("Page.navigate", json!({ "url": url }));
        assert!(opened.get("errorText").is_none(), "{opened}");
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// The text of an element.
    #[track_caller]
    pub fn text(&mut self, selector: &str) -> String {
        let value = self.value(&format!("document.querySelector({}).textContent", json!(selector)));
        value.as_str().expect("text").to_owned()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            let told = self.value("document.body ? document.body.innerText.slice(0, 600) : ''");
            assert!(start.elapsed() < PATIENCE, "never: {expression}: {told} {:?}", self.problems);
            sleep(Duration::from_millis(20));
        }
    }

    /// Clicks into the middle of an element.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ));
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": if kind == "mouseMoved" { "none" } else { "left" },
                "buttons": buttons, "clickCount": i32::from(kind != "mouseMoved"),
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key, by the name that scripts use.
    pub fn press(&mut self, key: &str) {
        let mut down = json!({ "type": "keyDown", "key": key });
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }

    /// Chooses a file, as in the dialog that the browser shows.
    pub fn choose(&mut self, selector: &str, file: &Path) {
        let document = self.call("DOM.getDocument", json!({}));
        let root = &document["root"]["nodeId"];
        let node = self.call("DOM.querySelector", json!({ "nodeId": root, "selector": selector }));
        self.call("DOM.setFileInputFiles", json!({ "nodeId": node["nodeId"], "files": [file] }));
    }

    /// Fails if the page had a script error, or wrote a message to the console.
    #[track_caller]
    pub fn assert_no_problems(&mut self) {
        // Events that are on their way come before the answer.
        self.value("new Promise((done) => setTimeout(() => done(1), 50))");
        assert!(self.problems.is_empty(), "{:#?}", self.problems);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked, it also ends its own processes; whatever is left then is ended.
        let close = json!({ "id": 0, "method": "Browser.close" });
        let _ = self.socket.send(Message::text(close.to_string()));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for something.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn problems_are_noticed() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open("data:text/html,<p>quiet");
    browser.assert_no_problems();
    for page in ["<script>throw 1</script>", "<script>console.error(1)</script>"] {
        browser.open(&format!("data:text/html,{page}"));
        browser.value("1");
        assert_eq!(std::mem::take(&mut browser.problems).len(), 1, "{page}");
    }
}
