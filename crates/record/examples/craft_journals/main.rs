//! `craft_journals GOOD FOLDER CANARY SEED COUNT`: journals that no version of this program would write,
//! made from a good one, for `cargo xtask attack` and for tests.
//!
//! Owns the command line alone. Never opens a journal by this crate's own store.

mod craft;

use std::path::Path;
use std::process::ExitCode;

use craft::{Chance, craft};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [good, folder, canary, seed, count] = &args[..] else {
        eprintln!("usage: craft_journals GOOD FOLDER CANARY SEED COUNT");
        return ExitCode::from(2);
    };
    let (Ok(seed), Ok(count)) = (seed.parse(), count.parse::<u32>()) else {
        eprintln!("error: SEED and COUNT are whole numbers");
        return ExitCode::from(2);
    };
    let mut chance = Chance::new(seed);
    for number in 0..count {
        let file = Path::new(folder).join(format!("{number:04}.db"));
        match craft(Path::new(good), &file, Path::new(canary), &mut chance) {
            Ok(done) => println!("{} {}", file.display(), done.join(", ")),
            Err(error) => {
                eprintln!("error: craft {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
