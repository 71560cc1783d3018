//! "Did you mean": the known word nearest to an unknown one. Pure.

/// Returns the nearest of `known`; `None` if it is too different for a typing error.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, best) = known.iter().map(|k| (distance(word, k), *k)).min()?;
    (distance <= 1 + best.chars().count() / 4).then_some(best)
}

/// Returns a hint for an unknown word: the nearest one, or all of them.
pub fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(best) => format!("did you mean `{best}`?"),
        None => format!("known are {}", list(known)),
    }
}

/// Formats a list: `a`, `b` and `c`, each in backticks.
pub fn list(words: &[&str]) -> String {
    let ticked: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    match ticked.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// Damerau's distance, restricted: insertions, deletions, substitutions and neighbouring swaps.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut best =
                (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let known = ["host", "device", "lab"];
        assert_eq!(nearest("hots", &known), Some("host"));
        assert_eq!(nearest("devise", &known), Some("device"));
        assert_eq!(nearest("campaign", &known), None);
        assert_eq!(hint("zzzzzz", &known), "known are `host`, `device` and `lab`");
    }
}
