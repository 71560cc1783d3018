//! `craft_journals SOUND FOLDER CANARY FROM COUNT`: journals as somebody who means harm would write
//! them, for `cargo xtask attack`.
//!
//! Owns the command line alone: what is changed in a sound journal is the tests'.

use std::path::Path;
use std::process::ExitCode;

use crafted::{Wishes, craft, lay_trap};

#[path = "../tests/crafted/mod.rs"]
mod crafted;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [sound, folder, canary, from, count] = &args[..] else {
        eprintln!("usage: craft_journals SOUND FOLDER CANARY FROM COUNT");
        return ExitCode::from(2);
    };
    let (Ok(from), Ok(count)) = (from.parse::<u64>(), count.parse::<u64>()) else {
        eprintln!("error: FROM and COUNT are whole numbers");
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    let trap = folder.join("trap");
    lay_trap(&trap, Path::new(canary));
    let wishes = Wishes {
        folder: &trap,
        testbed: "rack.toml",
        holder: "elsewhere 1 2 3 4 0123456789abcdef",
        run: "20260101-000000-0000",
    };
    for number in from..from.saturating_add(count) {
        let file = folder.join(format!("{number}.db"));
        println!("{}", craft(Path::new(sound), &file, number, &wishes));
    }
    ExitCode::SUCCESS
}
