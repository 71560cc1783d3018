//! An archive for whoever has no package manager: one folder, to be unpacked anywhere.
//!
//! Owns how its paths differ from a package's: `bin` and `share` are below its one folder.

use anyhow::Result;

use super::Shipped;
use super::files::write;

/// Compression level; a higher one is slower and hardly smaller.
const LEVEL: i32 = 19;

/// Packs it.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    let top = of.name();
    let files = of.files.moved(|path| {
        let below = path.strip_prefix("usr")?;
        Some(format!("{top}{below}"))
    });
    let packed = zstd::encode_all(files.tar(of.commit.epoch)?.as_slice(), LEVEL)?;
    write(&of.folder.join(format!("{top}.tar.zst")), &packed)
}
