//! A kernel image on disk: its release, and the folder of its modules.
//!
//! Owns the reading of the setup header (Linux's `Documentation/arch/x86/boot.rst`, "The Real-Mode
//! Kernel Header"). Never unpacks the kernel, and never changes a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::LabError;

/// Position of `HdrS` in every bzImage since protocol 2.00.
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8; 4] = b"HdrS";
/// Position of the pointer to the kernel's banner, which is relative to 0x200; zero for none.
const BANNER_POINTER_AT: usize = 0x20e;
const BANNER_BASE: usize = 0x200;
/// Size limit of the setup part, which contains the banner: 64 sectors and the boot sector.
const SETUP_OCTETS: u64 = 65 * 512;

/// A kernel to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    kernel: PathBuf,
    banner: String,
    modules: Option<PathBuf>,
}

impl Image {
    /// Reads the file's kernel release and finds its modules. With `modules`, they are in that
    /// folder (named after the release, or one that contains it). Otherwise they are next to the
    /// image, as in a distribution's package, or where they are installed. A kernel without any
    /// modules is accepted: all that it needs must be built in.
    pub fn open(kernel: &Path, modules: Option<&Path>) -> Result<Self, LabError> {
        let mut head = Vec::new();
        File::open(kernel)
            .and_then(|file| file.take(SETUP_OCTETS).read_to_end(&mut head))
            .map_err(|e| LabError::file("read kernel image", kernel.display(), e))?;
        let banner = banner(&head).map_err(|reason| {
            LabError::new(format!("read kernel image {}: {reason}", kernel.display()))
                .hinted("a kernel image is the file called vmlinuz-VERSION (a bzImage for x86-64)")
        })?;
        let mut image = Self { kernel: absolute(kernel)?, banner, modules: None };
        image.modules = match modules {
            Some(given) => Some(image.modules_in(given)?),
            None => image.usual_folders().into_iter().find(|folder| folder.is_dir()),
        };
        Ok(image)
    }

    /// Path of the kernel file, absolute.
    pub fn kernel(&self) -> &Path {
        &self.kernel
    }

    /// Release, such as `6.1.0-56-rt-amd64`.
    pub fn release(&self) -> &str {
        self.banner.split_whitespace().next().unwrap_or_default()
    }

    /// Release, builder and version: `6.1.0-56-rt-amd64 (…) #1 SMP PREEMPT_RT …`.
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// Folder of its modules; `None` if there is none.
    pub fn modules(&self) -> Option<&Path> {
        self.modules.as_deref()
    }

    fn modules_in(&self, given: &Path) -> Result<PathBuf, LabError> {
        let release = self.release();
        let candidates = [given.join(release), given.to_owned()];
        let known = |folder: &&PathBuf| folder.ends_with(release) && folder.is_dir();
        let found = candidates.iter().find(known).ok_or_else(|| {
            let what = format!("the modules of kernel {release} in {}", given.display());
            LabError::new(format!("find {what}")).hinted(MODULES_HINT)
        })?;
        absolute(found)
    }

    /// Lists the usual folders of modules: next to `boot/` in an unpacked package, before and after
    /// `/usr` was merged; the image's own folder, if a distribution keeps both together; this
    /// machine's own.
    fn usual_folders(&self) -> Vec<PathBuf> {
        let release = self.release();
        let mut folders = Vec::new();
        if let Some(folder) = self.kernel.parent() {
            if folder.ends_with(release) {
                folders.push(folder.to_owned());
            }
            if let Some(root) = folder.parent() {
                folders.push(root.join("lib/modules").join(release));
                folders.push(root.join("usr/lib/modules").join(release));
            }
        }
        folders.push(Path::new("/lib/modules").join(release));
        folders
    }
}

/// Hint for getting the modules.
pub(super) const MODULES_HINT: &str = "unpack the kernel's whole package (`dpkg -x linux-image-….deb FOLDER`) and name \
     FOLDER/boot/vmlinuz-VERSION: its modules are found beside it";

fn absolute(path: &Path) -> Result<PathBuf, LabError> {
    let absolute: io::Result<PathBuf> = std::path::absolute(path);
    absolute.map_err(|e| LabError::file("find", path.display(), e))
}

/// Reads the banner from an image's first octets.
fn banner(head: &[u8]) -> Result<String, &'static str> {
    if head.get(MAGIC_AT..MAGIC_AT + MAGIC.len()) != Some(MAGIC) {
        return Err("not a Linux bzImage");
    }
    let pointer = head.get(BANNER_POINTER_AT..BANNER_POINTER_AT + 2);
    let pointer = pointer.map_or(0, |two| usize::from(u16::from_le_bytes([two[0], two[1]])));
    let text = head.get(BANNER_BASE + pointer..).unwrap_or_default();
    let text = text.split(|octet| *octet == 0).next().unwrap_or_default();
    let text = str::from_utf8(text).unwrap_or_default().trim();
    // A release becomes part of a path: it must not lead elsewhere.
    let release = text.split_whitespace().next().unwrap_or_default();
    if pointer == 0 || release.is_empty() || release.starts_with('.') || release.contains('/') {
        return Err("it does not tell its release");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 0x400];
        head[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
        head[BANNER_POINTER_AT..BANNER_POINTER_AT + 2].copy_from_slice(&0x100u16.to_le_bytes());
        head[0x300..0x300 + text.len()].copy_from_slice(text);
        head
    }

    #[test]
    fn the_banner_is_where_the_header_points() {
        let text = "6.1.0-56-rt-amd64 (someone@debian.org) #1 SMP PREEMPT_RT Debian";
        assert_eq!(banner(&image(text.as_bytes())).as_deref(), Ok(text));
    }

    #[test]
    fn what_is_no_image_says_so() {
        let mut beyond = image(b"6.1");
        beyond[BANNER_POINTER_AT..BANNER_POINTER_AT + 2].copy_from_slice(&[0xff, 0xff]);
        for bad in [vec![], vec![0; 0x400], beyond, image(b"../../etc x"), image(b"")] {
            assert!(banner(&bad).is_err());
        }
        // Cut anywhere, it is refused or read, and never out of bounds.
        let whole = image(b"6.1 x");
        for end in 0..whole.len() {
            let _ = banner(&whole[..end]);
        }
    }
}
