//! The switchmark binary. All of it is in the library; this only hands over.

fn main() -> std::process::ExitCode {
    agents::guest::called().unwrap_or_else(switchmark::cli::main)
}
