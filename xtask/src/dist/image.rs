//! An image for containers, in the OCI's layout (image-spec 1.1): the program, its licences and
//! nothing else.
//!
//! Owns its files and its configuration. Needs no daemon: an image is a tar and three JSON files
//! named by their digests. One processor's each, because `podman load` and `umoci` want one image
//! in an archive.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::files::{Files, gzip, write};
use super::{PROGRAM, Shipped, TITLE, digest};

/// Folder for what the program writes: the journal and reports.
const DATA: &str = "data";
/// Folders that a program expects to find, and their modes.
const FOLDERS: [(&str, u32); 6] = [
    (DATA, 0o1777),
    ("tmp", 0o1777),
    ("run", 0o755),
    ("proc", 0o755),
    ("sys", 0o755),
    ("dev", 0o755),
];
/// Largest size in octets: it is pulled to every host.
const LARGEST: usize = 25_000_000;

/// Packs it.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    let (layout, manifest) = layout(of)?;
    let archive = layout.tar(of.commit.epoch)?;
    ensure!(archive.len() <= LARGEST, "the image has {} octets, over {LARGEST}", archive.len());
    eprintln!("image of {:.1} MB, {manifest}", archive.len() as f64 / 1e6);
    write(&of.folder.join(format!("{}.oci.tar", of.name())), &archive)
}

/// The layout's files, and the digest that the image is known by.
fn layout(of: &Shipped) -> Result<(Files, String)> {
    let mut layout = Files::default();
    let layer = layer(of).tar(of.commit.epoch)?;
    let kind = |of: &str| format!("application/vnd.oci.image.{of}");
    let packed = blob(&mut layout, &kind("layer.v1.tar+gzip"), &gzip(&layer)?);
    let (version, created) = (&of.commit.version, &of.commit.created);
    let config = json!({
        "created": created,
        "architecture": of.processor.short,
        "os": "linux",
        "config": {
            "Entrypoint": [format!("/{PROGRAM}")],
            "Env": ["PATH=/usr/bin", format!("HOME=/{DATA}")],
            "WorkingDir": format!("/{DATA}"),
            "Volumes": { format!("/{DATA}"): {} },
            "Labels": {
                "org.opencontainers.image.title": "switchmark",
                "org.opencontainers.image.description": TITLE,
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.revision": of.commit.hash,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let config = blob(&mut layout, &kind("config.v1+json"), config.to_string().as_bytes());
    let document = |kind: &str| json!({ "schemaVersion": 2, "mediaType": kind });
    let mut manifest = document(&kind("manifest.v1+json"));
    manifest["config"] = config;
    manifest["layers"] = json!([packed]);
    let text = manifest.to_string();
    let mut named = blob(&mut layout, &kind("manifest.v1+json"), text.as_bytes());
    let digest = named["digest"].as_str().unwrap_or_default().to_owned();
    named["annotations"] =
        json!({ "org.opencontainers.image.ref.name": format!("switchmark:{version}") });
    let mut index = document(&kind("index.v1+json"));
    index["manifests"] = json!([named]);
    layout.file("index.json", index.to_string());
    layout.file("oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string());
    Ok((layout, digest))
}

/// The root that a container begins with.
fn layer(of: &Shipped) -> Files {
    let licences = |path: &str| path == PROGRAM || path.contains("LICENSE");
    let mut root = of.files.moved(|path| licences(path).then(|| path.to_owned()));
    for (path, mode) in FOLDERS {
        root.folder(path, mode);
    }
    root
}

/// Stores it at the path of its digest, and returns the descriptor by which others name it.
fn blob(layout: &mut Files, kind: &str, octets: &[u8]) -> Value {
    let digest = digest(octets);
    layout.file(&format!("blobs/sha256/{digest}"), octets);
    json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": octets.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_twice_it_has_the_same_digest() {
        let one = Shipped::pretended("the program");
        let (layout, digest) = layout(&one).unwrap();
        assert_eq!(self::layout(&one).unwrap().1, digest);
        let other = Shipped::pretended("another program");
        assert_ne!(self::layout(&other).unwrap().1, digest);
        for path in layout.paths().filter(|path| path.starts_with("blobs/sha256/")) {
            let Some(held) = layout.octets(path) else { panic!("{path} is a file") };
            assert!(path.ends_with(&super::digest(held)), "{path} is not named by its digest");
        }
    }
}
