//! A fat tree as a profile: k pods of k/2 switches with hosts and k/2 above them, and (k/2)² on
//! top.
//!
//! Owns the cabling (Al-Fares et al., SIGCOMM 2008). All switches have k ports of one rate, so
//! every host can send at line rate at once where flows are spread evenly.

use std::fmt::Write as _;

use device::Profile;
use measure::Rate;

/// With k³/4 hosts; those of a switch have successive numbers, and so have those of a pod.
pub fn profile(k: u16, rate: Rate) -> Profile {
    let half = k / 2;
    let mut text = "name = \"fat-tree\"\n".to_owned();
    let mut devices = |layer: &str, count: u16| {
        for number in 1..=count {
            let bits = rate.0;
            let _ = write!(
                text,
                "[[device]]\nname = \"{layer}{number}\"\nports = {k}\nrate = \"{bits}bit\"\n\
                 buffer = {{ per_port = \"1MiB\" }}\n"
            );
        }
    };
    devices("edge", k * half);
    devices("middle", k * half);
    devices("top", half * half);
    let mut link = |a: String, b: String| {
        let _ = write!(text, "[[link]]\na = \"{a}\"\nb = \"{b}\"\n");
    };
    for pod in 0..k {
        for upper in 1..=half {
            let middle = pod * half + upper;
            for lower in 1..=half {
                let edge = pod * half + lower;
                link(format!("edge{edge}/{}", half + upper), format!("middle{middle}/{lower}"));
                let top = (upper - 1) * half + lower;
                link(format!("middle{middle}/{}", half + lower), format!("top{top}/{}", pod + 1));
            }
        }
    }
    let nothing = |name: &str| Err(format!("there is no `{name}` here"));
    Profile::parse(&text, &nothing).unwrap_or_else(|error| panic!("{error}: {}", error.hint))
}

#[test]
fn a_fat_tree_has_a_cable_at_every_port() {
    for k in [4u16, 16] {
        let tree = profile(k, Rate(1_000_000_000));
        assert_eq!(tree.edges(), k * k * k / 4);
        assert_eq!(tree.devices().len(), usize::from(5 * k * k / 4));
        assert_eq!(tree.links().len(), usize::from(k * k * k / 2));
    }
}
