//! Lists of ports as written in a file: `"1-12"`, `"1,5,9-12"`.
//!
//! Owns the notation. Ports count from 1 in a file and from 0 in the model.

/// Parses the ports of `text`: ascending, from 0, all below `ports`. The error describes the
/// defect.
pub(super) fn ports(text: &str, ports: u16) -> Result<Vec<u16>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (number(low, part)?, number(high, part)?);
        if low > high {
            return Err(format!("`{}` counts down", part.trim()));
        }
        if low == 0 || high > ports {
            let wrong = if low == 0 { low } else { high };
            return Err(format!("port {wrong} does not exist: the device has 1-{ports}"));
        }
        all.extend(low - 1..high);
    }
    all.sort_unstable();
    match all.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("port {} is listed twice", pair[0] + 1)),
        None => Ok(all),
    }
}

fn number(text: &str, part: &str) -> Result<u16, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{}` is neither a port nor a range of ports", part.trim()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_and_ranges() {
        let check = |text: &str, expected: Result<Vec<u16>, &str>| {
            assert_eq!(super::ports(text, 48), expected.map_err(str::to_owned), "{text}");
        };
        check("1-3", Ok(vec![0, 1, 2]));
        check("1,5, 9-12", Ok(vec![0, 4, 8, 9, 10, 11]));
        check("48", Ok(vec![47]));
        check("47-49", Err("port 49 does not exist: the device has 1-48"));
        check("0-3", Err("port 0 does not exist: the device has 1-48"));
        check("3-1", Err("`3-1` counts down"));
        check("1-4,4", Err("port 4 is listed twice"));
        check("", Err("`` is neither a port nor a range of ports"));
        check("1-x", Err("`1-x` is neither a port nor a range of ports"));
    }
}
