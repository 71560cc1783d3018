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
use super::connection::Connection;
use super::far_shell::Shell;
use super::program::Program;
use super::step;
use crate::failed::Failed;
use crate::hosts::Reach;
use crate::hosts::container::{Container, Keeper};

/// Options of srun for a step of one task per node. The tasks share the nodes with the step that
/// switchmark itself may run in (`--overlap`, Slurm 20.11), because they would wait for that to end
/// otherwise. They are bound to no processors. A node that others use is reported as busy before
/// the agent times out. The end of one task, or of a node, is not the others' end.
const SRUN: [&str; 8] = [
    "--quiet",
    "--overlap",
    "--cpu-bind=none",
    "--mpi=none",
    "--immediate=8",
    "--kill-on-bad-exit=0",
    "--no-kill",
    "--wait=0",
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
    pub fn start(&self, program: &Program, stop: &Stop) -> Result<Connection, Failed> {
        let mut command = agent_by(Command::new(program.file()));
        let at = |place: &dyn Display| format!("start an agent at {place}");
        let started = match self {
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
                Reach::Srun(node) => {
                    let agents = on_nodes(&[node], program)?;
                    return agents.into_iter().next().ok_or_else(|| Failed::new(at(reach)));
                }
                Reach::Mpirun(node) => by_mpirun(node, program),
                Reach::Iperf3 { .. } => {
                    Err(Failed::because(at(reach), Failed::new("it runs an iperf3 server only")))
                }
                Reach::Nothing => Err(Failed::because(at(reach), Failed::new("it runs nothing"))),
            },
        };
        started.map(Connection::from)
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

/// Starts one task on one node, whose streams Open MPI passes on. The program has the same path
/// there: clusters share their files.
fn by_mpirun(node: &str, program: &Program) -> Result<Child, Failed> {
    let mut command = Command::new("mpirun");
    command.args(["-n", "1", "--host", node]).arg(program.file());
    // Ctrl-C reaches the whole terminal, and here the controller decides.
    agent_by(command).process_group(0).spawn().map_err(|cause| not_started("mpirun", node, cause))
}

/// Starts a Slurm step with an agent on each of these nodes; returns the agents in their order.
pub fn on_nodes(nodes: &[&str], program: &Program) -> Result<Vec<Connection>, Failed> {
    let (count, list) = (nodes.len(), nodes.join(","));
    let mut command = Command::new("srun");
    command.args(SRUN).arg(format!("--nodes={count}")).arg(format!("--ntasks={count}"));
    command.args(["--nodelist", &list]).arg(program.file()).args(["agent", "--step"]);
    // Ctrl-C reaches the whole terminal, and here the controller decides.
    command.process_group(0);
    step::start(command, nodes).map_err(|cause| not_started("srun", &list, cause))
}

fn not_started(launcher: &str, nodes: &str, cause: io::Error) -> Failed {
    let missing = cause.kind() == io::ErrorKind::NotFound;
    let failed = Failed::because(format!("start an agent by `{launcher}` on `{nodes}`"), cause);
    if missing {
        failed.hinted(format!("run it where `{launcher}` is: a login node, or within a job"))
    } else {
        failed
    }
}
