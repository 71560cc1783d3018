//! Accessibility of pages, as axe-core of npm judges it in a browser.

use crate::program::Scratch;
use crate::program::browser::{SCREENS, looked_at};

/// What axe-core, of npm, finds in each of these pages of the folder on a laptop, all unfolded:
/// `serious html-has-lang: <html>`. `None` where it was not fetched, which is said.
pub fn broken_rules(scratch: &Scratch, pages: &[&str]) -> Option<Vec<(String, Vec<String>)>> {
    let axe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/axe/package/axe.min.js");
    if std::fs::copy(axe, scratch.path("axe.js")).is_err() {
        eprintln!("skipped: needs axe-core, which `cargo xtask test` fetches where there is npm");
        return None;
    }
    let frames: Vec<_> = pages.iter().map(|page| ((*page).to_owned(), SCREENS[0])).collect();
    Some(looked_at(scratch, &frames, "() => true", AXE))
}

const AXE: &str = r#"async (frame) => {
    const page = frame.contentDocument, script = page.createElement("script");
    page.querySelectorAll("details").forEach((folded) => { folded.open = true; });
    script.src = "axe.js";
    await new Promise((done) => { script.onload = done; page.head.append(script); });
    const found = await frame.contentWindow.axe.run(page, { resultTypes: ["violations"] });
    const broken = found.violations.map(({ impact, id, nodes }) =>
      `${impact} ${id}: ${nodes[0].html}`);
    return [frame.getAttribute("src"), broken];
}"#;
