//! An agent on a host that only a shell reaches: on another machine by the system's OpenSSH, with
//! the keys, jump hosts and known hosts of the user's configuration; in a container or a pod by its
//! manager's exec command.
//!
//! Owns the program's copy there: stored once, in a private directory named after its SHA-256. A
//! far shell receives only constant text, hexadecimal digits and the plain words of `become`. Never
//! asks for a password, so that it never waits for input.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use measure::Nanos;

use super::Stop;
use super::command::{CommandError, run_to_end};
use super::program::Program;
use crate::failed::Failed;
use crate::hosts::container::Container;

/// Options of ssh: no prompts; a lost network is noticed within a quarter of a minute.
const OPTIONS: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

/// Folder of the program's copy on a host, and in a container, which may have no home.
const AT_HOME: &str = r#"c="${XDG_CACHE_HOME:-$HOME/.cache}/switchmark""#;
const IN_CONTAINER: &str = "c=/tmp/switchmark";
/// Check that the folder of our programs there belongs to this user; otherwise nothing in it is run
/// or written (`test -O`).
const OWN: &str = r#"if [ -e "$c" ] && ! [ -O "$c" ]; then echo "$c belongs to another user" >&2; exit 9; fi; d="$c/$1""#;
/// Script that prints the system, the processor, and the program's sum if it is there already.
const LOOK: &str = r#"uname -s; uname -m; if [ -O "$d" ] && [ -x "$d/switchmark" ]; then sha256sum < "$d/switchmark"; fi"#;
/// Script that stores the program from its standard input; an incomplete copy never gets the final
/// name. Removes other versions together with their capabilities: they are in folders named after a
/// SHA-256, and any other folder is the user's.
const PUT: &str = r#"set -e; umask 077; mkdir -p "$d"; chmod 700 "$c" "$d"; t="$d/new.$$"; cat > "$t"; chmod 700 "$t"; mv -f "$t" "$d/switchmark"; sha256sum < "$d/switchmark"; for o in "$c"/*; do n="${o##*/}"; case "$n" in *[!0-9a-f]*) n=;; esac; if [ "${#n}" = 64 ] && [ "$o" != "$d" ] && [ -O "$o" ]; then rm -f "$o/switchmark"; rmdir "$o" 2>/dev/null || :; fi; done"#;
/// Script that becomes the agent and passes on the address by which its host was reached. `$2` are
/// the plain words that make it root's, if needed.
const START: &str = r#"exec $2 "$d/switchmark" agent --connection "$SSH_CONNECTION""#;
/// Script that starts the agent in a container, as the shell's child: the shell's parent may end as
/// soon as the shell has started, and an agent ends with its parent.
const START_BELOW: &str = r#"$2 "$d/switchmark" agent; exit $?"#;

/// Time-out for a look, which is one connection.
const LOOKING: Nanos = Nanos::from_secs(30);
/// Time-out for some tens of megabytes over any link.
const PUTTING: Nanos = Nanos::from_secs(600);

/// A shell that runs a given script.
#[derive(Debug, Clone, Copy)]
pub enum Shell<'a> {
    /// On `[user@]host[:port]`.
    Ssh(&'a str),
    /// In a container.
    Exec(&'a Container),
}

/// Builds `ssh` to `[user@]host[:port]`, which runs the line there; the caller sets its streams.
pub fn ssh(destination: &str, line: &str) -> Command {
    let mut command = Command::new("ssh");
    command.args(OPTIONS).arg("--").arg(format!("ssh://{destination}")).arg(line);
    command
}

impl Shell<'_> {
    /// Starts `program agent` there, with its three streams piped. Sends the program first if it is
    /// not there yet. `becomes` are the words that make it root's.
    pub fn start(
        self,
        becomes: Option<&str>,
        program: &Program,
        stop: &Stop,
    ) -> Result<Child, Failed> {
        let sum = program.sum().map_err(Failed::to("read this program's own file, to send it"))?;
        let run = |script, stdin, limit| {
            let command = self.command(script, &[&sum], stdin);
            run_to_end(command, &self.command_name(), limit, stop)
                .map_err(|cause| self.closed(cause))
        };
        let there = Look::read(&run(LOOK, Stdio::null(), LOOKING)?);
        let ours = format!("Linux {}", std::env::consts::ARCH);
        if there.system != ours {
            let theirs = there.system;
            let words = format!("it is made for {ours}, and that host is {theirs}");
            return Err(Failed::new(format!("run this program there: {words}"))
                .hinted("hosts need this program's own kind of processor"));
        }
        if there.sum.as_deref() != Some(&sum) {
            let file = File::open(program.file())
                .map_err(Failed::to("read this program's own file, to send it"))?;
            let told = run(PUT, file.into(), PUTTING)?;
            let got = first_word(&told);
            if got != sum {
                let words = format!("send this program there: {got:?} came of {sum}, by SHA-256");
                return Err(Failed::new(words).hinted("look for room in that user's ~/.cache"));
            }
        }
        let words = [&*sum, becomes.unwrap_or_default()];
        let start = if matches!(self, Self::Ssh(_)) { START } else { START_BELOW };
        let mut agent = self.command(start, &words, Stdio::piped());
        // Ctrl-C reaches the whole terminal, and here the controller decides.
        agent.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let failed = agent.spawn().map_err(Failed::to(format!("start `{}`", self.program())));
        failed.map_err(|failed| failed.hinted(format!("install `{}`", self.program())))
    }

    /// Builds the command for a script. `script` gets the sum as its first argument, and the folder
    /// of the program's copy in `$d`. All arguments are plain words.
    fn command(self, script: &str, arguments: &[&str], stdin: Stdio) -> Command {
        let mut command = match self {
            Self::Ssh(destination) => {
                let mut line = format!("sh -c '{AT_HOME}; {OWN}; {script}' switchmark");
                for word in arguments {
                    let _ = write!(line, " \"{word}\"");
                }
                ssh(destination, &line)
            }
            Self::Exec(container) => {
                let mut command = Command::new(self.program());
                command.args(&container.exec()[1..]).args(["sh", "-c"]);
                command.arg(format!("{IN_CONTAINER}; {OWN}; {script}")).arg("switchmark");
                command.args(arguments);
                command
            }
        };
        command.stdin(stdin);
        command
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Ssh(_) => "ssh",
            Self::Exec(container) => container.keeper.as_str(),
        }
    }

    /// Name of the command in errors.
    fn command_name(self) -> String {
        match self {
            Self::Ssh(destination) => format!("ssh {destination}"),
            Self::Exec(container) => container.exec().join(" "),
        }
    }

    fn closed(self, cause: CommandError) -> Failed {
        let (deed, by_hand) = match self {
            Self::Ssh(destination) => ("log in there", format!("ssh ssh://{destination} true")),
            Self::Exec(_) => ("run a shell there", format!("{} sh -c true", self.command_name())),
        };
        let hint = format!("`{by_hand}` has to work without a question");
        Failed::because(deed, cause).hinted(hint)
    }
}

/// System and program of a host.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    /// System and processor: `Linux x86_64`.
    system: String,
    /// SHA-256 of the program; `None` if it is not there.
    sum: Option<String>,
}

impl Look {
    /// Parses the output; anything that a login script printed before is ignored, only the last
    /// lines count.
    fn read(told: &str) -> Self {
        let lines: Vec<&str> = told.lines().map(str::trim).collect();
        let (sum, lines) = match lines.split_last() {
            Some((last, before)) if is_sum(first_word(last)) => {
                (Some(first_word(last).to_owned()), before)
            }
            _ => (None, &lines[..]),
        };
        let system = &lines[lines.len().saturating_sub(2)..];
        Self { system: system.join(" "), sum }
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|octet| octet.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_says() {
        let sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let check = |told: &str, system: &str, has: Option<&str>| {
            let expected = Look { system: system.into(), sum: has.map(str::to_owned) };
            assert_eq!(Look::read(told), expected, "{told:?}");
        };
        check("Linux\nx86_64", "Linux x86_64", None);
        check(&format!("Linux\nx86_64\n{sum}  -"), "Linux x86_64", Some(sum));
        check(&format!("Welcome!\nLinux\naarch64\n{sum}  -"), "Linux aarch64", Some(sum));
        check("FreeBSD\namd64\n", "FreeBSD amd64", None);
        check("", "", None);
    }
}
