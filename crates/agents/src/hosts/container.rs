//! Containers and pods as hosts: `docker:NAME`, `podman:NAME`, `kubectl:[NAMESPACE/]POD`.
//!
//! Owns their names and the commands that start something in one. Never starts anything.

use std::fmt;

/// Manager of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// Docker's client.
    Docker,
    /// Podman.
    Podman,
    /// A Kubernetes cluster's client: the container is the pod's first.
    Kubectl,
}

impl Keeper {
    /// Name of its program, also the prefix of a container's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Kubectl => "kubectl",
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Self::Docker, Self::Podman, Self::Kubectl].into_iter().find(|one| one.as_str() == word)
    }
}

/// A running container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Manager of the container.
    pub keeper: Keeper,
    /// Namespace of a pod; `None` for the one that `kubectl` is configured with.
    pub namespace: Option<String>,
    /// Name or id of the container.
    pub name: String,
}

impl Container {
    /// Parses `docker`, `NAME`; `None` if the first is no manager.
    pub fn read(keeper: &str, place: &str) -> Option<Result<Self, String>> {
        let keeper = Keeper::named(keeper)?;
        let (namespace, name) = match place.split_once('/') {
            Some((namespace, name)) if keeper == Keeper::Kubectl => (Some(namespace), name),
            _ => (None, place),
        };
        if !is_plain(name) || namespace.is_some_and(|namespace| !is_plain(namespace)) {
            let what = if keeper == Keeper::Kubectl { "pod" } else { "container" };
            return Some(Err(format!("`{place}` names no {what}")));
        }
        let namespace = namespace.map(str::to_owned);
        Some(Ok(Self { keeper, namespace, name: name.to_owned() }))
    }

    /// Command that runs the words after it in the container, with its own standard input.
    pub fn exec(&self) -> Vec<&str> {
        let mut words = vec![self.keeper.as_str(), "exec", "-i"];
        if let Some(namespace) = &self.namespace {
            words.extend(["--namespace", namespace]);
        }
        words.push(&self.name);
        if self.keeper == Keeper::Kubectl {
            words.push("--");
        }
        words
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.keeper.as_str())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// True if it is one node's or container's name, which no launcher takes for an option or a list.
pub fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_commands_are_the_keepers_own() {
        let exec = |keeper, place| {
            let read = Container::read(keeper, place).expect("a keeper");
            read.map(|container| container.exec().join(" "))
        };
        for (keeper, place, expected) in [
            ("docker", "web-1", "docker exec -i web-1"),
            ("podman", "0a1b.x_y", "podman exec -i 0a1b.x_y"),
            ("kubectl", "iperf", "kubectl exec -i iperf --"),
            ("kubectl", "lab/iperf-0", "kubectl exec -i --namespace lab iperf-0 --"),
        ] {
            assert_eq!(exec(keeper, place).as_deref(), Ok(expected), "{keeper}:{place}");
        }
        for (keeper, place) in [
            ("docker", ""),
            ("docker", "-it"),
            ("podman", "a/b"),
            ("kubectl", "a/b/c"),
            ("docker", "a b"),
        ] {
            assert!(exec(keeper, place).is_err(), "{keeper}:{place}");
        }
        assert_eq!(Container::read("ssh", "a"), None);
    }
}
