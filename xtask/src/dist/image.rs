//! An image for containers, in the OCI's layout (image-spec 1.1): the program and nothing else.
//!
//! Owns its files and its configuration. Needs no daemon: an image is a tar and three JSON files
//! named by their digests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Names, Shipped, TITLE, archive, told};
use crate::steps::run;

const PROGRAM: &str = "/usr/bin/switchmark";
/// Where what it writes goes: the journal and reports.
const DATA: &str = "/data";
/// What a program expects to find, and whether everybody may write there.
const FOLDERS: [(&str, u32); 7] = [
    ("usr/bin", 0o755),
    ("data", 0o1777),
    ("tmp", 0o1777),
    ("run", 0o755),
    ("proc", 0o755),
    ("sys", 0o755),
    ("dev", 0o755),
];
/// It is pulled to every host.
const LARGEST: u64 = 25_000_000;

/// One image with all processors' programs.
pub(super) fn pack(all: &[Shipped]) -> Result<()> {
    let Some(first) = all.first() else { return Ok(()) };
    let layout = first.folder.join("image");
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    let manifests: Result<Vec<Value>> = all.iter().map(|one| manifest(one, &layout)).collect();
    let kind = "application/vnd.oci.image.index.v1+json";
    let index = json!({ "schemaVersion": 2, "mediaType": kind, "manifests": manifests? });
    let version = &first.commit.version;
    let mut named = blob(&layout, kind, index.to_string().as_bytes())?;
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": version });
    let entry = json!({ "schemaVersion": 2, "mediaType": kind, "manifests": [named] });
    fs::write(layout.join("index.json"), entry.to_string())?;
    fs::write(layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    let file = first.folder.join(format!("switchmark-{version}.oci.tar"));
    archive::tar(&layout, &file, &first.commit)?;
    fs::remove_dir_all(&layout).with_context(|| format!("remove {}", layout.display()))
}

/// One processor's, as the index names it.
fn manifest(of: &Shipped, layout: &Path) -> Result<Value> {
    let layer = layer(of, layout)?;
    let epoch = format!("@{}", of.commit.epoch);
    let created = told(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &epoch]))?;
    let processor = of.processor(Names::Oci)?;
    let config = json!({
        "created": created,
        "architecture": processor,
        "os": "linux",
        "config": {
            "Entrypoint": [PROGRAM],
            "Env": ["PATH=/usr/bin", format!("HOME={DATA}")],
            "WorkingDir": DATA,
            "Volumes": { DATA: {} },
            "Labels": {
                "org.opencontainers.image.title": "switchmark",
                "org.opencontainers.image.description": TITLE,
                "org.opencontainers.image.version": of.commit.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [layer.unpacked] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let kind = "application/vnd.oci.image.config.v1+json";
    let config = blob(layout, kind, config.to_string().as_bytes())?;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({
        "schemaVersion": 2, "mediaType": kind, "config": config, "layers": [layer.named],
    });
    let mut named = blob(layout, kind, manifest.to_string().as_bytes())?;
    named["platform"] = json!({ "architecture": processor, "os": "linux" });
    Ok(named)
}

struct Layer {
    named: Value,
    /// The digest of what it unpacks to.
    unpacked: String,
}

fn layer(of: &Shipped, layout: &Path) -> Result<Layer> {
    let root = of.folder.join("root");
    for (folder, mode) in FOLDERS {
        let place = root.join(folder);
        fs::create_dir_all(&place)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(mode))?;
    }
    let program = root.join(PROGRAM.trim_start_matches('/'));
    fs::copy(&of.program, &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let tar = of.folder.join("layer.tar");
    archive::tar(&root, &tar, &of.commit)?;
    let unpacked = digest(&tar)?;
    run(Command::new("gzip").arg("-9n").arg(&tar))?;
    let packed = of.folder.join("layer.tar.gz");
    let octets = fs::metadata(&packed)?.len();
    ensure!(octets <= LARGEST, "the image has {octets} octets, over {LARGEST}");
    let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
    let named = blob(layout, kind, &fs::read(&packed)?)?;
    fs::remove_file(packed)?;
    fs::remove_dir_all(root)?;
    Ok(Layer { named, unpacked })
}

/// Puts it where its digest says, and tells what others name it by.
fn blob(layout: &Path, kind: &str, octets: &[u8]) -> Result<Value> {
    let blobs = layout.join("blobs/sha256");
    let new = blobs.join("new");
    fs::write(&new, octets)?;
    let digest = digest(&new)?;
    let name = digest.trim_start_matches("sha256:");
    fs::rename(&new, blobs.join(name))?;
    Ok(json!({ "mediaType": kind, "digest": digest, "size": octets.len() }))
}

/// `sha256:…`
fn digest(file: &Path) -> Result<String> {
    let sum = told(Command::new("sha256sum").arg(file))?;
    let hex = sum.split(' ').next().context("sha256sum prints a sum")?;
    Ok(format!("sha256:{hex}"))
}
