//! A page in a real browser, without network: what its console said, and how it is laid out on a
//! screen of a given size.
//!
//! Needs chromium. Its window has a least width, so a small screen is a frame in a larger one: the
//! page in it sees the frame's size. Never judges a page.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Scratch;

/// The screens that pages are made for: a laptop's and a telephone's.
pub const SCREENS: [(u32, u32); 2] = [(1280, 800), (390, 844)];

/// How a page is laid out on one screen, in CSS pixels.
#[derive(Debug, Clone, Deserialize)]
pub struct Layout {
    pub page: String,
    /// Of the screen, as the page sees it.
    pub width: u32,
    pub height: u32,
    /// Of all that is in it, tables and texts that are folded away included: more than the screen's
    /// where it has to be moved sideways to be read.
    pub content: u32,
    /// How far down it reaches as it opens, with everything folded that opens folded.
    pub reaches: u32,
    /// Where the first answer ends.
    pub answered: f64,
    /// What the first answer says, as it is shown.
    pub answer: String,
    /// How large its letters are.
    pub letters: f64,
}

impl Layout {
    /// Number of screens that it takes as it opens.
    pub fn screens(&self) -> f64 {
        f64::from(self.reaches) / f64::from(self.height)
    }

    /// Asserts that it takes at most so many screens of a laptop, and twice as many of a telephone.
    pub fn assert_within(&self, laptop: f64) {
        let most = if self.width >= SCREENS[0].0 { laptop } else { 2.0 * laptop };
        let screens = self.screens();
        assert!(screens <= most, "{} takes {screens:.1} screens at {}", self.page, self.width);
    }
}

/// Whether there is one; where not, that is said.
pub fn is_there(test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("chromium").is_file());
    if !found {
        eprintln!("skipped: {test} needs `chromium`, which is not installed");
    }
    found
}

/// Renders a page, and returns its document and what its console said.
pub fn browse(page: &Path, scratch: &Scratch) -> (String, Vec<String>) {
    browse_at(&format!("file://{}", page.display()), scratch)
}

/// The same by its address, of a file or of this machine.
pub fn browse_at(address: &str, scratch: &Scratch) -> (String, Vec<String>) {
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .args(["--enable-logging=stderr", "--v=0"])
        // A frame's page may be asked how it is laid out.
        .arg("--allow-file-access-from-files")
        .arg(format!("--user-data-dir={}", scratch.path("profile").display()))
        .args(["--virtual-time-budget=2000", "--dump-dom"])
        .arg(address)
        .output()
        .expect("chromium starts");
    let log = String::from_utf8_lossy(&output.stderr);
    let console = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// What is seen of one frame, by its screen.
const LAYOUT: &str = r#"(frame) => {
    const page = frame.contentDocument, root = page.documentElement;
    const first = page.querySelector("ul.answers li"), text = page.querySelector(".first .number, .first .why");
    const answered = first ? first.getBoundingClientRect().bottom : 0;
    const reaches = root.scrollHeight;
    page.querySelectorAll("details").forEach((folded) => { folded.open = true; });
    return {
      page: frame.getAttribute("src"),
      width: frame.contentWindow.innerWidth, height: frame.contentWindow.innerHeight,
      content: root.scrollWidth, reaches, answered, answer: first ? first.closest(".card").innerText : "",
      letters: text ? parseFloat(frame.contentWindow.getComputedStyle(text).fontSize) : 0,
    };
}"#;

/// Waits for what pages do behind their load, but not for ever.
const LOOK: &str = r#"
addEventListener("load", async () => {
  const frames = [...document.querySelectorAll("iframe")], all = [];
  for (const frame of frames) {
    for (let n = 0; n < 200 && !ready(frame.contentDocument); n++) {
      await new Promise((done) => setTimeout(done, 5));
    }
    all.push(await look(frame));
  }
  const said = document.createElement("script");
  said.type = "application/json";
  said.textContent = JSON.stringify(all).replaceAll("<", "\\u003c");
  document.body.replaceChildren(said);
});
"#;

/// Its first answer ends within either screen, in letters that can be read, and says all of this;
/// and nothing of the page lies beside the screen.
pub fn assert_answered(scratch: &Scratch, page: &str, said: &[&str]) {
    if !is_there("the first screen of a page") {
        return;
    }
    for layout in laid_out(scratch, &[page]) {
        let answer = layout.answer.replace('\u{a0}', " ");
        assert!(layout.answered > 0.0 && layout.letters >= 14.0, "{layout:?}");
        assert!(layout.answered < f64::from(layout.height), "{layout:?}");
        assert!(layout.content <= layout.width, "{layout:?}");
        assert!(
            said.iter().all(|words| answer.contains(words)),
            "{}: {said:?} in {answer}",
            layout.page
        );
    }
}

/// Each of these pages of the folder, or by their addresses, on each screen.
pub fn laid_out(scratch: &Scratch, pages: &[&str]) -> Vec<Layout> {
    let on_each = |page: &&str| SCREENS.map(|screen| ((*page).to_owned(), screen));
    let frames: Vec<_> = pages.iter().flat_map(on_each).collect();
    looked_at(scratch, &frames, "() => true", LAYOUT)
}

/// What a function of a frame sees in each of these pages, on a screen of that size, as soon as
/// another one calls its document ready.
pub fn looked_at<T: DeserializeOwned>(
    scratch: &Scratch,
    frames: &[(String, (u32, u32))],
    ready: &str,
    look: &str,
) -> Vec<T> {
    let html = screens(frames, ready, look);
    let own = scratch.path("screens.html");
    std::fs::write(&own, html).expect("writes");
    seen(browse(&own, scratch))
}

/// A page of these frames, which says what it sees in them.
pub fn screens(frames: &[(String, (u32, u32))], ready: &str, look: &str) -> String {
    let script = format!("const ready = {ready}, look = {look};{LOOK}");
    let mut html = format!("<!doctype html><script>{script}</script><body>");
    for (page, (width, height)) in frames {
        let style = format!("border:0;width:{width}px;height:{height}px");
        let _ = write!(html, r#"<iframe src="{page}" style="{style}"></iframe>"#);
    }
    html
}

/// What such a page said.
pub fn seen<T: DeserializeOwned>((document, console): (String, Vec<String>)) -> Vec<T> {
    let said = document.split(r#"<script type="application/json">"#).nth(1);
    let said = said.and_then(|rest| rest.split("</script>").next());
    let said = said.unwrap_or_else(|| panic!("{console:?}: {document}"));
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}
