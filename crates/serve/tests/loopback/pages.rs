//! What is shown: the list and its pages, a report as it is, two runs compared, what went wrong.

use crate::talk::{Running, ScriptedJournal, status};

#[test]
fn the_list_has_pages_and_is_narrowed() {
    let server = Running::new(ScriptedJournal::of(120));
    let page = server.get("/");
    assert!(page.contains("run-119") && !page.contains("run-69\""), "{page}");
    assert!(page.contains("1 to 50 of 120") && page.contains("href=\"/?page=2\""), "{page}");
    assert!(page.contains("href=\"/runs/run-119/live\""), "{page}");
    let page = server.get("/?page=3&study=latency");
    assert!(page.contains("run-0") && page.contains("101 to 120 of 120"), "{page}");
    // What was found stands first, with its tone; where nothing is known, the report.
    let answer = r#"<span class="question">Non-blocking?</span> <span class="reply bad">no</span>"#;
    assert!(page.contains(answer), "{page}");
    assert!(page.contains(r#"<span class="none">Report of latency</span>"#), "{page}");
    assert!(page.contains("study=latency&amp;page=2") || page.contains("study=latency&#38;page=2"));
    assert!(server.get("/?state=running").contains("1 to 1 of 1 that fit, of 120"));
    assert!(server.get("/?study=none").contains("None of the 120 runs fits"));
    assert_eq!(status(&server.get("/?since=yesterday")), 400);
    assert_eq!(status(&server.get("/?a=%zz")), 400);
    let empty = Running::new(ScriptedJournal::of(0));
    assert!(empty.get("/").contains("There is no run in this journal yet"));
    let warnings = vec!["journal <b.db> cannot be read".to_owned()];
    let partly = Running::new(ScriptedJournal { warnings, ..ScriptedJournal::of(3) });
    let page = partly.get("/");
    assert!(status(&page) == 200 && page.contains("run-0"), "{page}");
    assert!(page.contains("role=\"alert\"") && !page.contains("<b.db>"), "{page}");
}

#[test]
fn a_report_is_shown_as_it_is_and_a_page_that_fails_is_said() {
    let server = Running::new(ScriptedJournal::of(3));
    let report = server.get("/runs/run-0");
    assert!(report.ends_with("<p>the report, as it is</p>"), "{report}");
    assert!(report.contains("script-src 'self' 'sha256-"), "{report}");
    assert_eq!(status(&server.get("/runs/run-9")), 404);
    assert_eq!(status(&server.get("/runs/run-1")), 500);
    assert_eq!(status(&server.get("/runs/run-0")), 200, "others are shown all the same");
    let head = server.ask("HEAD /runs/run-0", &[]);
    assert!(status(&head) == 200 && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn two_are_compared_the_older_one_as_the_reference() {
    // The tenth's id sorts before the second's.
    let server = Running::new(ScriptedJournal::of(11));
    for (query, expect) in [
        ("run=run-10&run=run-2", "run-10 against run-2"),
        ("run=run-2&run=run-10", "run-10 against run-2"),
        ("run=run-2&run=run-1", "run-2 against run-1"),
        ("run=run-1&run=run-2", "run-2 against run-1"),
        ("reference=run-2&subject=run-1", "run-1 against run-2"),
        ("reference=run-2%2Fa&subject=run-2%2Fb", "run-2/b against run-2/a"),
    ] {
        let page = server.get(&format!("/compare?{query}"));
        assert!(page.ends_with(expect), "{query}: {page}");
    }
    for query in ["", "?run=run-1", "?run=a&run=b&run=c"] {
        let page = server.get(&format!("/compare{query}"));
        assert!(status(&page) == 200 && page.contains("name=\"reference\""), "{query}: {page}");
    }
    let same = server.get("/compare?run=run-1&run=run-1");
    assert_eq!(status(&same), 400);
    assert!(same.contains("both sides are the same") && same.contains("value=\"run-1\""), "{same}");
}
