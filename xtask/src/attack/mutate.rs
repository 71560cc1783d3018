//! Unintended inputs, made from good ones by small changes.
//!
//! Owns the changes and their order, which follow from a seed. Never reads the clock.

/// SplitMix64 (Steele et al., 2014).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Creates dice that throw the same for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Throws a number below `sides`, which is not 0.
    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides.max(1) as u64) as usize
    }

    /// Draws one of them.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Words that break readers.
const WORDS: [&[u8]; 24] = [
    b"18446744073709551615",
    b"18446744073709551616",
    b"-1",
    b"1e308",
    b"nan",
    b"0",
    b"99999999999Tbit",
    b"200%",
    b"\0",
    b"\x1b]0;x\x07",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"\xff\xfe",
    b"\xc2\x9b",
    b"\n",
    b"\"\"\"",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{",
    b"../../../../etc/passwd",
    b"%n%s%x",
    b"a/b",
    b"ACME 10/100",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    b"= ",
];

/// Some of `corpus`, changed in a few places.
pub fn mutated(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = dice.one(corpus).clone();
    for _ in 0..=dice.below(4) {
        change(dice, &mut bytes, corpus);
    }
    bytes
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + dice.below(40)).min(bytes.len());
    match dice.below(8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = dice.below(256) as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            for _ in 0..=dice.below(20) {
                bytes.splice(at..at, piece.iter().copied());
            }
        }
        5 => {
            let other = dice.one(corpus);
            let from = dice.below(other.len() + 1);
            let to = (from + dice.below(200)).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        // In place of a number or a word, where one stands there.
        6 => {
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
            let run = bytes[at..].iter().take_while(|b| is_word(b)).count();
            bytes.splice(at..at + run, dice.one(&WORDS).iter().copied());
        }
        _ => drop(bytes.splice(at..at, dice.one(&WORDS).iter().copied())),
    }
}
