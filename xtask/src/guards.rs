//! A page is made from what a study found, and never from words: in the rooms where pages are made
//! and drawn, no condition is named and no text is taken apart or compared. Outside `study`, no
//! study is named but in the rooms of one.
//!
//! Owns which rooms these are, and which rooms may name conditions and studies. Never changes
//! anything.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use syn::visit::{self, Visit};
use syn::{Expr, Item, Lit, Pat};

use crate::circles::is_for_tests;
use crate::tidy;

/// Methods that take words apart or look into them.
const READING: [&str; 9] = [
    "contains",
    "starts_with",
    "ends_with",
    "split",
    "splitn",
    "split_once",
    "rsplit_once",
    "strip_prefix",
    "strip_suffix",
];

/// Rooms that fill conditions in, or work across studies by the table of conditions.
const KEYED: [&str; 11] = [
    // What conditions are called, and what is said in them.
    "page/src",
    "import/src",
    "study/src",
    "switchmark/src/cli/import.rs",
    // Runs held against claims and against known truths.
    "switchmark/src/config/claims",
    "switchmark/src/cli/prove",
    "switchmark/src/cli/demo/truths.rs",
    // Rows for other programs.
    "render/src/exposition",
    "render/src/exposition.rs",
    "render/src/export",
    "render/src/export.rs",
];

/// Rooms of crate `study` that hold runs against each other, against claims and against truths:
/// their pages are about rows of any study.
const ACROSS: [&str; 7] = [
    "study/src/acceptance",
    "study/src/campaign",
    "study/src/comparison",
    "study/src/conformance",
    "study/src/prove",
    "study/src/sweep",
    "study/src/watch",
];

/// Rooms of crate `study` that know no condition.
const UNKEYED: [&str; 13] = [
    "study/src/acceptance.rs",
    "study/src/explain.rs",
    "study/src/prove.rs",
    "study/src/request",
    "study/src/request.rs",
    "study/src/run",
    "study/src/run.rs",
    "study/src/search",
    "study/src/search.rs",
    "study/src/seconds.rs",
    "study/src/verdict",
    "study/src/verdict.rs",
    "study/src/watch.rs",
];

/// Rooms outside `study` that name a study's request.
const NAMING: [&str; 5] = [
    // The two studies that no verb asks.
    "switchmark/src/config/plan/campaign.rs",
    "switchmark/src/cli/import.rs",
    // Chosen examples.
    "switchmark/src/cli/demo.rs",
    "switchmark/src/cli/demo",
    // What is true of one study's figures.
    "switchmark/src/cli/prove/draw",
];

/// Fails with every place that breaks a rule.
pub fn check(root: &Path) -> Result<()> {
    let crates = root.join("crates");
    let specs = specs(&fs::read_to_string(crates.join("study/src/spec.rs"))?)?;
    let mut wrong = Vec::new();
    tidy::visit(&crates, &mut |path| {
        let inside = path.strip_prefix(&crates).unwrap_or(path);
        if !tidy::is_product(inside) {
            return Ok(());
        }
        let rules = Rules::of_room(inside);
        let text = fs::read_to_string(path)?;
        let found =
            rules.broken(&text, &specs).with_context(|| format!("parse {}", path.display()))?;
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", inside.display())));
        Ok(())
    })?;
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// Types of the studies' requests, as the table of studies lists them.
fn specs(table: &str) -> Result<Vec<String>> {
    let is_table = |item: &Item| matches!(item, Item::Macro(it) if it.ident.is_none() && it.mac.path.is_ident("studies"));
    let file = syn::parse_file(table)?;
    let Some(Item::Macro(table)) = file.items.iter().find(|item| is_table(item)) else {
        bail!("there is no table of studies");
    };
    let tokens = table.mac.tokens.to_string();
    let words = tokens.split(|c: char| !c.is_alphanumeric());
    Ok(words.filter(|word| word.ends_with("Spec")).map(str::to_owned).collect())
}

/// Rules of a room.
#[derive(Clone, Copy)]
struct Rules {
    /// True if it may not take words apart, or compare them.
    reads_no_words: bool,
    /// True if it may not name a condition.
    names_no_condition: bool,
    /// True if it may not name a study.
    names_no_study: bool,
}

impl Rules {
    fn of_room(inside: &Path) -> Self {
        let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        let is_within = |rooms: &[&str]| rooms.iter().any(|room| inside.starts_with(room));
        let is_page = inside.starts_with("study/src")
            && parts.iter().any(|part| *part == "page.rs" || *part == "page");
        let is_drawn = is_within(&["render/src/html.rs", "render/src/svg", "render/src/svg.rs"]);
        let is_studys_page = is_page && !is_within(&ACROSS);
        let is_keyed = is_within(&KEYED) && !is_within(&UNKEYED) && !is_studys_page;
        Self {
            reads_no_words: is_page || is_drawn,
            names_no_condition: !is_keyed,
            names_no_study: !is_within(&NAMING) && !inside.starts_with("study"),
        }
    }

    fn broken(self, text: &str, specs: &[String]) -> syn::Result<Vec<String>> {
        let mut places = Places { rules: self, specs, found: Vec::new() };
        places.visit_file(&syn::parse_file(text)?);
        Ok(places.found)
    }
}

struct Places<'a> {
    rules: Rules,
    specs: &'a [String],
    found: Vec<String>,
}

impl Places<'_> {
    /// Notes the studies among names that stand one after the other, joined by `::`.
    fn note_studies<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        if !self.rules.names_no_study {
            return;
        }
        let mut before = "";
        for name in names {
            let is_variant = before == "StudySpec" && name.starts_with(char::is_uppercase);
            if is_variant || self.specs.iter().any(|spec| spec == name) {
                self.found.push(format!("names the study `{name}`: its request answers"));
            }
            before = name;
        }
    }
}

impl<'ast> Visit<'ast> for Places<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(module) if module.attrs.iter().any(is_for_tests)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        self.note_studies(names.iter().map(String::as_str));
        visit::visit_path(self, path);
    }

    fn visit_use_name(&mut self, name: &'ast syn::UseName) {
        self.note_studies([name.ident.to_string().as_str()].into_iter());
    }

    fn visit_use_rename(&mut self, name: &'ast syn::UseRename) {
        self.note_studies([name.ident.to_string().as_str()].into_iter());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = call.tokens.to_string().replace(" :: ", "::");
        let is_between = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':');
        tokens.split(is_between).for_each(|path| self.note_studies(path.split("::")));
        visit::visit_macro(self, call);
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if self.rules.reads_no_words
            && matches!(pattern, Pat::Lit(lit) if matches!(lit.lit, Lit::Str(_)))
        {
            self.found.push("matches words: a type tells what they mean".to_owned());
        }
        visit::visit_pat(self, pattern);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Binary(both)
                if self.rules.reads_no_words
                    && matches!(both.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_))
                    && [&both.left, &both.right].into_iter().any(|side| is_literal(side)) =>
            {
                self.found.push("compares words: a type tells what they mean".to_owned());
            }
            Expr::MethodCall(call)
                if self.rules.reads_no_words
                    && READING.iter().any(|name| call.method == name)
                    && call.args.first().is_some_and(is_literal) =>
            {
                let method = &call.method;
                self.found.push(format!("takes words apart by `{method}`: a type has the parts"));
            }
            Expr::Path(path) if self.rules.names_no_condition => {
                let names: Vec<String> =
                    path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                if let [.., kind, name] = names.as_slice()
                    && kind == "Key"
                    && name.starts_with(char::is_uppercase)
                {
                    self.found
                        .push(format!("names the condition `{name}`: what was found has a field"));
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }
}

fn is_literal(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(lit) if is_words(&lit.lit))
}

const fn is_words(literal: &Lit) -> bool {
    matches!(literal, Lit::Str(_) | Lit::Char(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_no_condition_and_reads_no_words() {
        let rules = |room: &str| Rules::of_room(Path::new(room));
        let check = |room: &str, code: &str, expect: usize| {
            let code = format!("fn f() {{ {code} }}");
            let found = rules(room).broken(&code, &[]).expect("it parses");
            assert_eq!(found.len(), expect, "{room}: {code}: {found:?}");
        };
        let page = "study/src/tcp/page.rs";
        check(page, "figure.number(Key::Rtt);", 1);
        check(page, "let a = text == \"idle\";", 1);
        check(page, "match text { \"idle\" => 1, _ => 2 }", 1);
        check(page, "text.split(' '); text.starts_with(\"x\");", 2);
        check(page, "caveats.contains(&Caveat::NoBypass); a == b;", 0);
        check("study/src/tcp/finding.rs", "row.set(Key::Rtt, 1); a == \"b\";", 0);
        check("switchmark/src/cli/output.rs", "row.set(Key::Rtt, 1); a == \"b\";", 1);
        check("render/src/svg/plot.rs", "name.contains(\"x\");", 1);
        check("study/src/comparison/page.rs", "row.text(Key::Rtt); a == \"b\";", 1);
        check("study/src/run/page.rs", "row.text(Key::Rtt); a == \"b\";", 2);
        check("study/src/comparison/cells.rs", "row.set(Key::Rtt, 1);", 0);
    }

    #[test]
    fn a_study_is_named_in_the_rooms_of_one() {
        let table = "macro_rules! studies { () => {} } studies! { /// Round trips.
            Latency(LatencySpec) \"latency\"; Storage(Box<StorageSpec>) \"storage\"; }";
        let specs = specs(table).expect("a table");
        assert_eq!(specs, ["LatencySpec", "StorageSpec"]);
        let check = |room: &str, code: &str, expect: usize| {
            let found = Rules::of_room(Path::new(room)).broken(code, &specs).expect("it parses");
            assert_eq!(found.len(), expect, "{room}: {code}: {found:?}");
        };
        let room = "switchmark/src/cli/before.rs";
        check(room, "fn f() { match s { StudySpec::Latency(_) => 1, _ => 2 } }", 1);
        check(room, "fn f() { matches!(s, study::StudySpec::Latency(_)) }", 1);
        check(room, "table! { fn f() -> Result<StudySpec, Fault> { g(StudySpec::Latency) } }", 1);
        check(room, "use study::{StudySpec, StorageSpec};", 1);
        check(room, "fn f(spec: &LatencySpec) {}", 1);
        check(room, "fn f() { studies.map(StudySpec::name); LabSpec::new(StudySpec::parts) }", 0);
        check(room, "#[cfg(test)] mod tests { use study::LatencySpec; }", 0);
        check("render/src/html.rs", "use study::StorageSpec;", 1);
        check("study/src/spec.rs", "use latency::LatencySpec;", 0);
    }
}
