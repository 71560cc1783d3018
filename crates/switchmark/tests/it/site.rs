//! The pages as a site: that it opens from a folder, on a large and on a small screen, and that a
//! search leads to the page that answers it.
//!
//! Owns which page that is. Needs mdBook, which `cargo xtask docs --site` installs, and a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::browser::{self, SCREENS, laid_out, looked_at};
use crate::program::{Scratch, docs, full};

/// What people search for, and the page that answers it.
const SEARCHES: [(&str, &str); 18] = [
    // How many packets a second is that, and how many does a link carry?
    ("pps", "docs/howto/line-rate.html"),
    ("line rate", "docs/howto/line-rate.html"),
    // Has it enough? The method is the second thing that is asked.
    ("buffer", "docs/verbs/buffer.html"),
    ("jumbo", "docs/howto/frame-sizes.html"),
    ("VLAN", "docs/howto/frame-sizes.html"),
    ("MTU", "docs/howto/frame-sizes.html"),
    ("RFC 2544", "docs/methods/rfc2544.html"),
    ("RFC 2889", "docs/methods/switching.html"),
    ("latency", "docs/verbs/latency.html"),
    ("throughput", "docs/methods/throughput.html"),
    ("packet loss", "docs/methods/frame-loss.html"),
    ("jitter", "docs/methods/latency.html"),
    ("bufferbloat", "docs/verbs/latency.html"),
    ("MAC table", "docs/methods/switching.html"),
    ("exit code", "docs/reference/exit-codes.html"),
    // What it measures too, and how the two compare; reading its files is the next page.
    ("iperf3", "docs/verbs/tcp.html"),
    ("caveats", "docs/reference/figures.html"),
    ("ssh", "docs/reference/plan-and-testbed-files.html"),
];

/// Widest tables, longest lines, pictures.
const PAGES: [&str; 7] = [
    "index.html",
    "docs/start/two-pcs.html",
    "docs/howto/line-rate.html",
    "docs/verbs/forwarding.html",
    "docs/reference/figures.html",
    "docs/reference/plan-and-testbed-files.html",
    "CONTRIBUTING.html",
];

/// Builds it, where there is what builds it.
fn site(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain([docs::root().join("target/tools/bin")]);
    if !folders.any(|folder| folder.join("mdbook").is_file()) {
        eprintln!("skipped: {test} needs `mdbook`, which `cargo xtask docs --site` installs");
        return None;
    }
    if !browser::is_there(test) {
        return None;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["xtask", "docs", "--site"])
        .current_dir(docs::root())
        .stdin(Stdio::null())
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let index = String::from_utf8_lossy(&output.stdout);
    PathBuf::from(index.trim()).parent().map(Path::to_owned)
}

#[test]
fn a_site_opens_from_a_folder_and_what_is_searched_for_comes_first() {
    let Some(site) = site("a_site_opens_from_a_folder_and_what_is_searched_for_comes_first") else {
        return;
    };
    let scratch = Scratch::new("site");
    let url = |page: &str| format!("file://{}", site.join(page).display());
    // One search as people make it; the others are put to what it has loaded.
    let frames = [(url(&format!("index.html?search={}", SEARCHES[0].0)), SCREENS[0])];
    let found = "(page) => page.querySelector('#mdbook-searchresults a')";
    let words = serde_json::to_string(&SEARCHES.map(|(words, _)| words)).expect("JSON");
    let first = format!(
        "(frame) => {{
            const {{ elasticlunr, search }} = frame.contentWindow;
            const index = elasticlunr.Index.load(search.index);
            const shown = frame.contentDocument.querySelector('#mdbook-searchresults a');
            const others = {words}.slice(1).map((words) => index.search(words, search.search_options));
            return [shown ? shown.getAttribute('href') : '']
                .concat(others.map((all) => all.length ? search.doc_urls[all[0].ref] : ''));
        }}"
    );
    let seen = looked_at::<Vec<String>>(&scratch, &frames, found, &first).concat();
    let is_right = |page: &str, first: &str| {
        first.split_once(".html").is_some_and(|(found, _)| format!("{found}.html").ends_with(page))
    };
    let wrong: Vec<_> = SEARCHES
        .iter()
        .zip(&seen)
        .filter(|((_, page), first)| !is_right(page, first))
        .map(|((words, page), first)| format!("{words}: {first:?}, not {page}"))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());

    let pages = if full() { every_page(&site) } else { PAGES.map(PathBuf::from).into() };
    let pages: Vec<String> = pages.iter().map(|page| url(&page.display().to_string())).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    for few in pages.chunks(PAGES.len()) {
        let seen = laid_out(&scratch, few);
        assert_eq!(seen.len(), 2 * few.len());
        let sideways: Vec<_> = seen.into_iter().filter(|one| one.content > one.width).collect();
        assert!(sideways.is_empty(), "{sideways:#?}");
    }
}

/// By their paths in the site.
fn every_page(site: &Path) -> Vec<PathBuf> {
    let (mut pages, mut folders) = (Vec::new(), vec![site.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the site") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                pages.push(path.strip_prefix(site).expect("below it").to_owned());
            }
        }
    }
    assert!(pages.len() > 50, "{} pages", pages.len());
    pages
}
