//! One reader's way through the pages, in one browser: a run is watched to its end, and then
//! compared with another that is picked in the list.
//!
//! Clicks what a reader would click, and makes up no address but the first. Which of the two
//! devices is slower, and by how much, is known: both are models.

use std::process::Stdio;

use serde_json::Value;

use super::shown::Shown;
use super::{Server, command, run};
use crate::program::browser::{self, SCREENS, browse_at, screens, seen};
use crate::program::docs::root;
use crate::program::{Scratch, wait_for};

/// Acts once on each document, and is ready at the comparison.
const READY: &str = r##"(page) => {
    if (!page || page.readyState !== "complete" || page.acted) return false;
    const at = page.location.pathname, notes = page.defaultView.frameElement.notes ||= {};
    if (at === "/compare") return true;
    if (at.endsWith("/live")) {
        const live = page.getElementById("live");
        if (live.dataset.ended !== "yes") return false;
        page.acted = true;
        notes.live = {
            state: page.getElementById("state").innerText, link: page.getElementById("link").innerText,
            brackets: page.getElementById("brackets").innerText,
            rows: page.getElementById("trials").rows.length,
            cables: page.querySelectorAll("#testbed [data-state]").length,
            plots: page.querySelectorAll("#plot-list canvas").length,
        };
        [...page.querySelectorAll("nav a")].find((link) => link.innerText === "Runs").click();
    } else if (at === "/") {
        page.acted = true;
        const row = (label) => [...page.querySelectorAll("table.runs tbody tr")]
            .find((row) => row.innerText.includes(label));
        for (const label of ["as changed", "as before"]) {
            // What is picked stays, also for the other screen.
            const box = row(label).querySelector("input");
            if (!box.checked) box.click();
        }
        notes.picked = page.getElementById("picked").innerText;
        [...page.querySelectorAll("button")].find((one) => one.innerText.startsWith("Compare")).click();
    }
    return false;
}"##;

const LOOK: &str = r#"(frame) => {
    const page = frame.contentDocument, all = (what) => [...page.querySelectorAll(what)];
    all("details").forEach((one) => { one.open = true; });
    return {
        ...frame.notes, at: page.location.pathname, width: frame.contentWindow.innerWidth,
        content: page.documentElement.scrollWidth,
        answers: all("ul.answers li").map((one) => one.innerText),
        figures: all("table tbody tr").map((one) => one.innerText),
        decided: all("th").find((one) => one.innerText === "decision").getBoundingClientRect().right,
    };
}"#;

/// Floods, and in the watched run searches as well, of a device with two hosts.
fn flood<'a>(testbed: &'a str, label: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["forwarding", "--testbed", testbed, "--flood", "--blocks", "10", "--label", label];
    [&asked[..], &["--journal", "j.db", "-q"], more].concat()
}

#[test]
fn a_run_is_watched_to_its_end_and_compared_in_a_browser() {
    if !browser::is_there("a_run_is_watched_to_its_end_and_compared_in_a_browser") {
        return;
    }
    let scratch = Scratch::new("serve-reader");
    let [before, slowed] = ["router", "router-slowed"].map(|name| {
        let profile = root().join(format!("examples/ci/{name}.toml"));
        format!("sim:{},hosts=2", profile.display())
    });
    run(&scratch, &flood(&before, "as before", &["--size", "64", "-t", "10ms", "--seed", "1"]));
    let server = Server::new(&scratch, &[]);
    let searched = ["--search", "rfc2544", "--size", "64,512,1518", "-t", "1s", "--seed", "2"];
    let mut measuring = command(&scratch, &flood(&slowed, "as changed", &searched));
    let measuring = measuring.stdout(Stdio::null()).stderr(Stdio::null());
    let mut measuring = measuring.spawn().expect("it starts");
    let mut run = None;
    wait_for("the run to be listed", || {
        let (_, list) = server.get("/?state=running");
        let id = list.split("name=\"run\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        run = id.map(str::to_owned);
        run.is_some()
    });
    let live = format!("/runs/{}/live", run.expect("it is listed"));
    let own = screens(&SCREENS.map(|screen| (live.clone(), screen)), READY, LOOK);
    let through = Shown::new(server.host(), own);
    let (document, console) = browse_at(&through.address(), &scratch);
    assert!(measuring.wait().expect("it ends").success());
    assert!(console.is_empty(), "{console:?}");
    let all: Vec<Value> = seen((document, console));
    assert_eq!(all.len(), SCREENS.len());
    for page in all {
        let text = |at: &str| page.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let number = |at: &str| page.pointer(at).and_then(Value::as_u64).unwrap_or_default();
        assert_eq!((text("/live/state"), text("/live/link")), ("done", "ended"), "{page}");
        assert!(text("/live/brackets").contains("no loss up to "), "{page}");
        assert!(number("/live/rows") > 20 && number("/live/cables") > 0, "{page}");
        assert!(number("/live/plots") > 0, "{page}");
        assert!(text("/picked").contains(" will be compared with "), "{page}");
        assert_eq!(text("/at"), "/compare", "{page}");
        assert!(number("/content") <= number("/width"), "{page}");
        let answer = text("/answers/0").replace('\u{a0}', " ");
        let said =
            "as changed's forwarding rate (flood, 64 octets) is 10.0 % lower than as before's";
        assert!(answer.contains(said), "{page}");
        let figure = text("/figures/0");
        assert!(figure.contains("received") && figure.contains("worse"), "{page}");
        let decided = page["decided"].as_f64().expect("a place");
        assert!(number("/width") < 1000 || decided < number("/width") as f64, "{page}");
    }
}
