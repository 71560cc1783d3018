//! The README's first command, and its report in a real browser.
//!
//! Needs root, and chromium for the page. What the demo does after its report, half a minute of
//! claims about simulated devices, is `prove`'s to test; but for the full profile it is told to end
//! by then, as with Ctrl-C.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{self, Scratch, alone, full};
use crate::program::browser::{browse, laid_out};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What the report may take of a laptop's screen as it opens.
const MOST_SCREENS: f64 = 4.0;

/// Asks it to end once there is a report.
fn end_after(demo: &mut Child, page: &Path) {
    while !page.exists() && demo.try_wait().expect("it can be asked").is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    let _ = kill(Pid::from_raw(demo.id().cast_signed()), Signal::SIGINT);
}

#[test]
fn the_demo_leaves_a_report_that_a_browser_opens() {
    let name = "the_demo_leaves_a_report_that_a_browser_opens";
    let Some(_alone) = alone(name, &["chromium"]) else { return };
    let scratch = Scratch::new("demo");
    let page = scratch.path("switchmark-demo.html");
    let mut demo = Command::new(harness::switchmark())
        .args(["demo", "--quiet", "--seed", "1", "--out"])
        .arg(scratch.folder())
        .arg("--store")
        .arg(scratch.path("journal.db"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("switchmark starts");
    if !full() {
        end_after(&mut demo, &page);
    }
    let output = demo.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    // 3: some cell stayed without a valid trial, which a busy machine may bring about; it says so.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    // Told after the report, of devices whose truth is known.
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("report: "), "{said}");

    let html = std::fs::read_to_string(&page).expect("the report");
    for reference in ["src=\"http", "href=\"http", "url(http", "@import", "stylesheet"] {
        assert!(!html.contains(reference), "the report reaches out: {reference}");
    }
    let (document, console) = browse(&page, &scratch);
    assert_eq!(console, Vec::<String>::new(), "the page's console");
    assert!(document.contains("</html>"), "the page was rendered");
    let plots = document.matches("<svg").count();
    assert!(plots >= 5, "{plots} pictures");
    for layout in laid_out(&scratch, &["switchmark-demo.html"]) {
        layout.assert_within(MOST_SCREENS);
    }
    for svg in document.split("<svg").skip(1) {
        let svg = svg.split("</svg>").next().unwrap_or_default();
        let marks = ["<path", "<polyline", "<circle", "<rect", "<line"];
        let marks: usize = marks.iter().map(|mark| svg.matches(mark).count()).sum();
        assert!(marks >= 3, "an empty plot: <svg{}", &svg[..svg.len().min(300)]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "a plot with impossible places");
    }
    assert!(html.len() < 2_500_000, "nine runs in {} octets", html.len());
    let labels: Vec<&str> = document
        .split(r##"<a href="#run"##)
        .skip(1)
        .filter_map(|rest| rest.split('>').nth(1)?.split('<').next())
        .filter(|label| label.contains(" on "))
        .collect();
    let unique: std::collections::BTreeSet<_> = labels.iter().collect();
    assert_eq!((labels.len(), unique.len()), (9, 9), "the summary: {labels:?}");
    let needed = ["bypass", "limited by", "kernel", "seed", "Known value and measured value"];
    for needed in needed {
        assert!(document.contains(needed), "the report tells of {needed}");
    }

    // The probe of the probe: a page that does complain is heard.
    let bad = scratch.path("bad.html");
    std::fs::write(&bad, "<html><script>console.error('heard')</script></html>").expect("writes");
    let (_, console) = browse(&bad, &scratch);
    assert!(console.iter().any(|line| line.contains("heard")), "{console:?}");
}
