//! The manual's pages on files, section 5: testbeds and plans, as docs/reference has them.
//!
//! Owns which part of the reference is on which page. Never words anything of its own that the
//! reference says.

use crate::cli::roff::{self, Reference, plain};

/// Below every page of a verb.
pub const SEE_ALSO: &str = ".SH \"SEE ALSO\"\n.BR switchmark (1),\n.BR switchmark\\-testbed (5),\n\
                            .BR switchmark\\-plan (5)\n";

const BAD_FILE: &str =
    ".SH \"EXIT STATUS\"\n.TP\n.B 2\nof a verb that reads such a file, where it can't be used\n";

const REFERENCE: &str = include_str!("../../../manual/plan-and-testbed-files.md");

struct Page {
    name: &'static str,
    about: &'static str,
    /// Sections of the reference, by their headings.
    sections: &'static [&'static str],
    example: &'static str,
    example_path: &'static str,
}

const PAGES: &[Page] = &[
    Page {
        name: "switchmark-testbed",
        about: "hosts, their ports and cables, and the devices between them",
        sections: &[
            "Testbed",
            "Simulated testbeds",
            "Hosts by ssh",
            "Hosts in containers",
            "Hosts that only run iperf3",
            "Hosts on which nothing runs",
            "Hosts of a cluster",
        ],
        example: include_str!("../../../manual/netns-testbed.toml"),
        example_path: "/usr/share/switchmark/examples/netns-testbed.toml",
    },
    Page {
        name: "switchmark-plan",
        about: "what is measured on a testbed, and what a device is held against",
        sections: &["Plan", "Accept", "Campaigns"],
        example: include_str!("../../../manual/plan.toml"),
        example_path: "/usr/share/switchmark/examples/plan.toml",
    },
];

/// Each with its file's name.
pub fn pages() -> impl Iterator<Item = (String, String)> {
    PAGES.iter().map(|page| (format!("{}.5", page.name), written(page)))
}

fn written(page: &Page) -> String {
    let reference = Reference::parse(REFERENCE);
    let (name, about) = (plain(page.name), plain(page.about));
    let head = format!(".TH {name} 5\n.SH NAME\n{name} \\- {about}\n.SH DESCRIPTION\n");
    let sections = page.sections.iter().map(|heading| {
        let text = reference.section(heading).unwrap_or_default();
        format!(".SH \"{}\"\n{}", plain(&heading.to_uppercase()), roff::body(text))
    });
    let mut out = vec![head, roff::body(reference.introduction)];
    out.extend(sections);
    out.push(format!(".SH EXAMPLES\n{}", roff::block(page.example.lines())));
    out.push(BAD_FILE.to_owned());
    let path = plain(page.example_path);
    out.push(format!(".SH FILES\n.TP\n.I {path}\nthe example above\n{SEE_ALSO}"));
    out.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_of_the_reference_is_on_one_page() {
        let named: Vec<&str> = PAGES.iter().flat_map(|page| page.sections).copied().collect();
        let mut headings: Vec<&str> = Reference::parse(REFERENCE).headings().collect();
        let mut sorted = named.clone();
        sorted.sort_unstable();
        headings.sort_unstable();
        assert_eq!(sorted, headings);
    }

    #[test]
    fn a_page_has_the_keys_and_no_mark_of_markdown() {
        for (name, page) in pages() {
            let prose: String =
                page.split(".nf").map(|part| part.rsplit(".fi").next().unwrap_or("")).collect();
            for mark in ["`", "](", "|---", "**"] {
                assert!(!prose.contains(mark), "{name}: {mark} in {prose}");
            }
        }
        let testbed = written(&PAGES[0]);
        assert!(testbed.contains(".TP\n\\fB[[host]]\\fR \\fBname\\fR\n"), "{testbed}");
    }
}
