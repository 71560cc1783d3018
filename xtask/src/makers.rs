//! Only the room `verdict` says that something is a device's, a link's or a tester's limit, and
//! only the table `page::Key` names conditions.
//!
//! Everybody may compare a verdict, or say that nothing is known; a condition's name that is put
//! together as the program runs (a campaign's factor) is nobody's. Never changes anything.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use syn::visit::{self, Visit};
use syn::{Expr, Item, Pat};

use crate::circles::is_for_tests;
use crate::tidy;

const LIMITS: [&str; 3] = ["DeviceLimited", "LinkLimited", "TesterLimited"];

/// Fails with every place that makes something it may not.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    tidy::visit(&root.join("crates"), &mut |path| {
        let inside = path.strip_prefix(root.join("crates")).unwrap_or(path);
        let own_room = inside.iter().any(|name| name == "verdict" || name == "verdict.rs");
        if tidy::is_product(inside) && !own_room && !inside.starts_with("page") {
            let text = fs::read_to_string(path)?;
            let made = made(&text).with_context(|| format!("parse {}", path.display()))?;
            wrong.extend(made.into_iter().map(|made| format!("{}: {made}", inside.display())));
        }
        Ok(())
    })?;
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn made(text: &str) -> syn::Result<Vec<String>> {
    let file = syn::parse_file(text)?;
    let mut makers = Makers::default();
    makers.visit_file(&file);
    Ok(makers.0)
}

#[derive(Default)]
struct Makers(Vec<String>);

impl<'ast> Visit<'ast> for Makers {
    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(module) if module.attrs.iter().any(is_for_tests)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Binary(both) if matches!(both.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)) => {}
            Expr::Path(path) => {
                let names: Vec<String> =
                    path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                if let [.., kind, limit] = names.as_slice()
                    && kind == "Verdict"
                    && LIMITS.contains(&limit.as_str())
                {
                    let rule = "only `verdict` does, from evidence";
                    self.0.push(format!("makes `Verdict::{limit}`: {rule}"));
                }
            }
            Expr::Call(call) => {
                if let (Expr::Path(made), Some(Expr::Lit(name))) = (&*call.func, call.args.first())
                    && let syn::Lit::Str(name) = &name.lit
                    && made
                        .path
                        .segments
                        .iter()
                        .rev()
                        .map(|s| &s.ident)
                        .take(2)
                        .eq(["named", "Key"])
                {
                    let name = name.value();
                    self.0
                        .push(format!("names the condition `{name}`: its row is missing in `Key`"));
                }
                visit::visit_expr(self, expression);
            }
            _ => visit::visit_expr(self, expression),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_compared_and_a_condition_has_its_row() {
        let check = |code: &str, expect: &[&str]| {
            let found = made(&format!("fn f() {{ {code} }}")).expect("it parses");
            assert_eq!(found.len(), expect.len(), "{code}: {found:?}");
            assert!(found.iter().zip(expect).all(|(f, e)| f.contains(e)), "{code}: {found:?}");
        };
        check("if v == Verdict::DeviceLimited { g() }", &[]);
        check("match v { Verdict::LinkLimited => g(), _ => {} }", &[]);
        check("let v = Verdict::Undetermined;", &[]);
        check("let v = page::Verdict::TesterLimited;", &["TesterLimited"]);
        check("Figure { verdict: Verdict::DeviceLimited, ..f }", &["DeviceLimited"]);
        check("row.set(Key::named(\"frame_size\"), 64);", &["frame_size"]);
        check("figure.text(page::Key::named(\"path\"));", &["path"]);
        check("figure.text(Key::named(&factor.name));", &[]);
        check("row.set(Key::FrameSize, 64);", &[]);
        let tests = "#[cfg(test)] mod tests { fn f() { g(Verdict::LinkLimited) } }";
        assert!(made(tests).expect("it parses").is_empty());
    }
}
