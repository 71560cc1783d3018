//! Starting an agent on its host.
//!
//! Owns the start methods; [those with a shell](super::far_shell) have a file of their own. Never
//! talks to the agent it started. The child is tied to the calling *thread*, unless it is another
//! program's: call from a thread that outlives it.

use std::fmt::Display;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use lab::{Lab, Namespace};
use measure::Nanos;

use super::Stop;
use super::command::run_to_end;
use super::far_shell::Shell;
use super::program::Program;
use crate::failed::Failed;
use crate::hosts::Reach;
use crate::hosts::container::{Container, Keeper};

/// Options of srun for one task on the node named next. The task shares the node with the step that
/// switchmark itself may run in (`--overlap`, Slurm 20.11), because it would wait for that to end
/// otherwise. It is bound to none of its processors. A node that others use is reported as busy
/// before the agent times out.
const SRUN: [&str; 9] = [
    "--quiet",
    "--unbuffered",
    "--overlap",
    "--cpu-bind=none",
    "--mpi=none",
    "--immediate=8",
    "--nodes=1",
    "--ntasks=1",
    "--nodelist",
];

/// Time-out for a question to a container's manager, whose daemon answers at once or not at all.
const ASKING: Nanos = Nanos::from_secs(10);

/// Start method for an agent on a host.
#[derive(Debug)]
pub enum Launcher<'a> {
    /// A node of a lab on this machine.
    Lab {
        /// Lab of the node.
        lab: &'a Lab,
        /// Name of the node.
        node: &'a str,
    },
    /// A host that exists already.
    Host {
        /// Address and transport of the host.
        reach: &'a Reach,
        /// Command prefix of the agent; `None` if not needed.
        becomes: Option<&'a str>,
    },
}

impl Launcher<'_> {
    /// Starts `program agent` there, with its three streams piped.
    pub fn start(&self, program: &Program, stop: &Stop) -> Result<Child, Failed> {
        let mut command = agent_by(Command::new(program.file()));
        let at = |place: &dyn Display| format!("start an agent at {place}");
        match self {
            Self::Lab { lab, node } => {
                let place = format!("lab node {node}");
                lab.spawn(node, &mut command).map_err(Failed::to(at(&place)))
            }
            Self::Host { reach, becomes } => match reach {
                Reach::Netns(name) => Namespace::named(name)
                    .and_then(|there| there.spawn(&mut command))
                    .map_err(Failed::to(at(reach))),
                Reach::Pid(pid) => Namespace::of_process(*pid)
                    .and_then(|there| there.spawn(&mut command))
                    .map_err(Failed::to(at(reach))),
                Reach::Local => here(program, *becomes),
                Reach::Ssh(destination) => {
                    let started = Shell::Ssh(destination).start(*becomes, program, stop);
                    started.map_err(Failed::to(at(reach)))
                }
                Reach::Container(container) => {
                    let inside = Shell::Exec(container).start(*becomes, program, stop);
                    let started =
                        inside.or_else(|why| start_in_namespace(container, command, why, stop));
                    started.map_err(Failed::to(at(reach)))
                }
                Reach::Srun(node) => cluster("srun", &SRUN, node, program),
                Reach::Mpirun(node) => cluster("mpirun", &["-n", "1", "--host"], node, program),
                Reach::Iperf3 { .. } => {
                    Err(Failed::because(at(reach), Failed::new("it runs an iperf3 server only")))
                }
                Reach::Nothing => Err(Failed::because(at(reach), Failed::new("it runs nothing"))),
            },
        }
    }
}

/// Starts the agent in the network namespace of a container on this machine, if it cannot run
/// inside: no shell, or no folder for the program. `why` is the error of the attempt inside.
fn start_in_namespace(
    container: &Container,
    mut agent: Command,
    why: Failed,
    stop: &Stop,
) -> Result<Child, Failed> {
    if container.keeper == Keeper::Kubectl {
        let hint = "the pod needs `sh` and a /tmp that can be written: an emptyDir mounted there";
        return Err(why.hinted(hint));
    }
    let keeper = container.keeper.as_str();
    let mut ask = Command::new(keeper);
    ask.args(["inspect", "--format", "{{.State.Pid}}", &container.name]).stdin(Stdio::null());
    let line = format!("{keeper} inspect {}", container.name);
    let told = run_to_end(ask, &line, ASKING, stop)
        .map_err(Failed::to("find its process"))
        .map_err(|failed| failed.hinted(format!("`{keeper} ps` lists those that run")))?;
    let pid = told.trim().parse().ok().filter(|pid| *pid > 0);
    let stopped = || Failed::new("find its process").hinted(format!("`{keeper} start` it first"));
    let namespace = Namespace::of_process(pid.ok_or_else(stopped)?);
    let started = namespace.and_then(|there| there.spawn(&mut agent));
    started.map_err(|cause| Failed::because("start one beside it", cause))
}

/// Starts the agent on this host, possibly by another program: `sudo -n`.
fn here(program: &Program, becomes: Option<&str>) -> Result<Child, Failed> {
    let mut words = becomes.unwrap_or_default().split_whitespace();
    let command = match words.next() {
        None => Command::new(program.file()),
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program.file());
            command
        }
    };
    agent_by(command).spawn().map_err(Failed::to("start an agent here"))
}

fn agent_by(mut command: Command) -> Command {
    command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts one task on one node, whose streams the launcher passes on. The program has the same path
/// there: clusters share their files.
fn cluster(
    launcher: &str,
    options: &[&str],
    node: &str,
    program: &Program,
) -> Result<Child, Failed> {
    let mut command = Command::new(launcher);
    command.args(options).arg(node).arg(program.file());
    // Ctrl-C reaches the whole terminal, and here the controller decides.
    agent_by(command).process_group(0).spawn().map_err(|cause| {
        let missing = cause.kind() == io::ErrorKind::NotFound;
        let failed =
            Failed::because(format!("start an agent by `{launcher}` on node `{node}`"), cause);
        if missing {
            failed.hinted(format!("run it where `{launcher}` is: a login node, or within a job"))
        } else {
            failed
        }
    })
}
