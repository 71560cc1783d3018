//! A page is made from what a study found, and never from words: in the rooms where pages are made
//! and drawn, no condition is named and no text is taken apart or compared.
//!
//! Owns which rooms these are, and which rooms may name conditions. Never changes anything.

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
const KEYED: [&str; 21] = [
    // What conditions are called, and what is said in them.
    "page/src",
    "import/src",
    "method/src/study",
    "method/src/study.rs",
    "switchmark/src/cli/import.rs",
    // Runs held against each other, against claims and against known truths.
    "method/src/acceptance",
    "method/src/comparison",
    "method/src/comparison.rs",
    "method/src/conformance",
    "method/src/conformance.rs",
    "method/src/prove",
    "method/src/watch",
    "switchmark/src/config/claims",
    "switchmark/src/cli/prove",
    "switchmark/src/cli/demo/truths.rs",
    "method/src/sweep",
    "method/src/sweep.rs",
    // Rows for other programs.
    "render/src/exposition",
    "render/src/exposition.rs",
    "render/src/export",
    "render/src/export.rs",
];

/// Fails with every place that breaks a rule.
pub fn check(root: &Path) -> Result<()> {
    let crates = root.join("crates");
    let mut wrong = Vec::new();
    tidy::visit(&crates, &mut |path| {
        let inside = path.strip_prefix(&crates).unwrap_or(path);
        if !tidy::is_product(inside) {
            return Ok(());
        }
        let rules = Rules::of_room(inside);
        let text = fs::read_to_string(path)?;
        let found = rules.broken(&text).with_context(|| format!("parse {}", path.display()))?;
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", inside.display())));
        Ok(())
    })?;
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

/// What a room may not do.
#[derive(Clone, Copy)]
struct Rules {
    /// Take words apart, or compare them.
    reads_no_words: bool,
    /// Name a condition.
    names_no_condition: bool,
}

impl Rules {
    fn of_room(inside: &Path) -> Self {
        let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        let is_within = |rooms: &[&str]| rooms.iter().any(|room| inside.starts_with(room));
        let is_page = inside.starts_with("method/src")
            && parts.iter().any(|part| *part == "page.rs" || *part == "page");
        let is_drawn = is_within(&["render/src/html.rs", "render/src/svg", "render/src/svg.rs"]);
        // A campaign's page is about any study's rows.
        let is_studys_page = is_page
            && inside.starts_with("method/src/study")
            && !inside.starts_with("method/src/study/campaign");
        let is_keyed = is_within(&KEYED) && !is_studys_page;
        Self { reads_no_words: is_page || is_drawn, names_no_condition: !is_keyed }
    }

    fn broken(self, text: &str) -> syn::Result<Vec<String>> {
        let mut places = Places { rules: self, found: Vec::new() };
        places.visit_file(&syn::parse_file(text)?);
        Ok(places.found)
    }
}

struct Places {
    rules: Rules,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Places {
    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(module) if module.attrs.iter().any(is_for_tests)) {
            visit::visit_item(self, item);
        }
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
            let found = rules(room).broken(&code).expect("it parses");
            assert_eq!(found.len(), expect, "{room}: {code}: {found:?}");
        };
        let page = "method/src/study/tcp/page.rs";
        check(page, "figure.number(Key::Rtt);", 1);
        check(page, "let a = text == \"idle\";", 1);
        check(page, "match text { \"idle\" => 1, _ => 2 }", 1);
        check(page, "text.split(' '); text.starts_with(\"x\");", 2);
        check(page, "caveats.contains(&Caveat::NoBypass); a == b;", 0);
        check("method/src/study/tcp/finding.rs", "row.set(Key::Rtt, 1); a == \"b\";", 0);
        check("switchmark/src/cli/output.rs", "row.set(Key::Rtt, 1); a == \"b\";", 1);
        check("render/src/svg/plot.rs", "name.contains(\"x\");", 1);
        check("method/src/comparison/page.rs", "row.text(Key::Rtt); a == \"b\";", 1);
        check("method/src/run/page.rs", "row.text(Key::Rtt); a == \"b\";", 2);
        check("method/src/comparison/cells.rs", "row.set(Key::Rtt, 1);", 0);
    }
}
