//! The report page as a browser has it: Chromium, driven over its debugging pipe.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A person takes a page for stuck that does not answer a key for this long.
const STALL: Duration = Duration::from_secs(2);

/// A browser with one page.
struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    last: u64,
    /// What happened between the answers.
    events: Vec<Value>,
}

impl Browser {
    /// Starts a browser whose files are below `folder`; nothing where there is none.
    fn start(folder: &Path) -> Option<Self> {
        let found = BROWSERS.into_iter().find(|name| {
            let mut asked = Command::new(name);
            asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            asked.status().is_ok_and(|status| status.success())
        })?;
        let [to, from] = ["to", "from"].map(|name| {
            let path = folder.join(name);
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("fifo");
            path
        });
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<\"$0/to\" 4>\"$0/from\""])
            .arg(folder)
            .args([found, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .args(["--no-first-run", "--disable-background-networking", "--window-size=1200,900"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("browser");
        // Each end is opened when the other one is.
        let to = OpenOptions::new().write(true).open(to).expect("to the browser");
        let replies = BufReader::new(File::open(from).expect("from the browser"));
        let (send, from) = channel();
        std::thread::spawn(move || {
            for message in replies.split(0) {
                let Ok(message) = message else { return };
                let message = serde_json::from_slice(&message).expect("JSON");
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Self { child, to, from, session: String::new(), last: 0, events: Vec::new() };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().expect("session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut message = message.to_string().into_bytes();
        message.push(0);
        self.to.write_all(&message).expect("sent");
        loop {
            let reply = self.next(method);
            if reply["id"] == json!(self.last) {
                assert!(reply.get("error").is_none(), "{method}: {reply}");
                return reply["result"].clone();
            }
            self.events.push(reply);
        }
    }

    fn next(&self, awaited: &str) -> Value {
        let wait = Duration::from_secs(60);
        self.from.recv_timeout(wait).unwrap_or_else(|_| panic!("no answer to {awaited}"))
    }

    /// Opens a page, and says how long that took.
    fn open(&mut self, url: &str) -> Duration {
        let start = Instant::now();
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next("the page");
            self.events.push(event);
        }
        start.elapsed()
    }

    /// The value of an expression in the page.
    fn value(&mut self, expression: &str) -> Value {
        let call = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", call);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses a key, and says how long it took until the page was drawn again.
    fn press(&mut self, key: &str) -> Duration {
        let start = Instant::now();
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "ArrowDown" => (40, ""),
            letter => (letter.to_ascii_uppercase().bytes().next().map_or(0, u32::from), letter),
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let down = json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code });
        self.ask("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.ask("Input.dispatchKeyEvent", up);
        let drawn = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))";
        self.value(drawn);
        start.elapsed()
    }

    fn typed(&mut self, text: &str) -> Duration {
        text.chars().map(|letter| self.press(&letter.to_string())).max().unwrap_or_default()
    }

    /// Presses Tab until the element with this id has the focus.
    fn tab_to(&mut self, selector: &str) {
        for _ in 0..200 {
            self.press("Tab");
            if self.value(&format!("document.activeElement.matches({selector:?})")) == true {
                return;
            }
        }
        panic!("no number of tabs leads to {selector}");
    }

    /// What went wrong in the page, and what it asked of others.
    fn faults(&self) -> Vec<String> {
        let bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => true,
            "Log.entryAdded" => true,
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                event["params"]["type"] != "Document" && !url.starts_with("data:")
            }
            _ => false,
        };
        self.events.iter().filter(bad).map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The page of this repository's packed cases, repeated until there are `count`.
fn page(folder: &Path, count: usize) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/by-hand");
    let out = folder.join("page.html");
    let run = Command::new(env!("CARGO_BIN_EXE_restitch"))
        .args(["harness", "report"])
        .arg(cases)
        .arg("--html")
        .arg(&out)
        .output()
        .expect("the binary runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let page = std::fs::read_to_string(&out).expect("page");
    let from = page.find("const D = ").expect("data") + "const D = ".len();
    let mut values = serde_json::Deserializer::from_str(&page[from..]).into_iter::<Value>();
    let mut data = values.next().expect("data").expect("JSON");
    let to = from + values.byte_offset();
    let own = data["cases"].as_array().expect("cases").clone();
    assert!(own.len() > 20, "{}", own.len());
    data["cases"] = own.iter().cycle().take(count).cloned().collect();
    let data = data.to_string().replace("</", "<\\/");
    std::fs::write(&out, format!("{}{data}{}", &page[..from], &page[to..])).expect("page");
    format!("file://{}", out.display())
}

#[test]
fn ten_thousand_cases_by_keyboard_in_both_schemes_without_a_request() {
    let folder = tempfile::tempdir().expect("folder");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return crate::disk::skip("a browser", "there is no Chromium (apt-get install chromium)");
    };
    let url = page(folder.path(), 10_000);
    let opened = browser.open(&url);
    let count = |browser: &mut Browser| {
        let said = browser.value("document.getElementById('count').textContent");
        let said = said.as_str().expect("count").to_owned();
        said.split(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number")
    };
    assert_eq!(count(&mut browser), 10_000);
    let rows = "document.querySelectorAll('#cases details').length";
    assert_eq!(browser.value(rows), 200, "no more is drawn than a person looks at");

    // Both schemes, and the button that goes from one to the other.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.ask("Emulation.setEmulatedMedia", json!({ "features": feature }));
        seen.push(browser.value(ground));
    }
    assert_eq!(seen, ["rgb(251, 250, 247)", "rgb(21, 23, 27)"]);
    browser.tab_to("#theme");
    browser.press("Enter");
    assert_eq!(browser.value(ground), seen[0]);

    // Search: the key that leads to it, and what it finds.
    browser.press("/");
    assert_eq!(browser.value("document.activeElement.id"), "q");
    let slowest = browser.typed("quotes");
    let found = count(&mut browser);
    assert!(found > 0 && found < 10_000, "{found}");
    let all = "[...document.querySelectorAll('#cases summary')].length > 0";
    assert_eq!(browser.value(all), true);
    browser.press("Escape");
    assert_eq!(count(&mut browser), 10_000, "Escape empties the search");

    // Filters: by Tab and the letters of a choice.
    browser.tab_to("#v");
    let slowest = slowest.max(browser.typed("ref"));
    assert_eq!(browser.value("document.getElementById('v').value"), "refused");
    let refused = count(&mut browser);
    assert!(refused > 0 && refused < 10_000, "{refused}");
    browser.tab_to("#f");
    browser.press("ArrowDown");
    assert_ne!(browser.value("document.getElementById('f').value"), "");

    // A case opens by Enter and shows its texts.
    browser
        .value("document.getElementById('f').value = ''; document.getElementById('f').onchange()");
    browser.tab_to("#cases summary");
    browser.press("Enter");
    assert_eq!(browser.value("document.activeElement.parentElement.open"), true);
    assert_eq!(browser.value("!!document.querySelector('#cases details[open] pre')"), true);

    // On a telephone, the names of the cases stay.
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
    browser.ask("Emulation.setDeviceMetricsOverride", phone);
    let names = "Math.min(...[...document.querySelectorAll('#cases summary code')].slice(0, 20).map((name) => name.getBoundingClientRect().width))";
    let width = browser.value(names).as_f64().expect("a number");
    assert!(width > 200.0, "the names of cases are {width} px wide");
    let beyond = "document.documentElement.scrollWidth - innerWidth";
    assert_eq!(browser.value(beyond), 0, "nothing lies beside the page");

    assert_eq!(browser.faults(), Vec::<String>::new());
    println!("10,000 cases: open after {opened:?}, the slowest key {slowest:?}");
    assert!(slowest < STALL, "a key took {slowest:?}");
}

/// The page is watched closely enough to see a fault.
#[test]
fn a_page_with_faults_is_seen() {
    let folder = tempfile::tempdir().expect("folder");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return crate::disk::skip("a browser", "there is no Chromium (apt-get install chromium)");
    };
    let page = folder.path().join("faults.html");
    let source = "<!doctype html><img src=http://127.0.0.1:9/x><script>console.error('a'); nobody()</script>";
    std::fs::write(&page, source).expect("page");
    browser.open(&format!("file://{}", page.display()));
    let faults = browser.faults().join("\n");
    for wanted in ["consoleAPICalled", "exceptionThrown", "requestWillBeSent"] {
        assert!(faults.contains(wanted), "{wanted}: {faults}");
    }
}
