//! An initial file system for a kernel: a cpio archive of the "newc" kind.
//!
//! Owns the format (Linux's `Documentation/driver-api/early-userspace/buffer-format.rst`).
//! Everything in it belongs to root and has no date, so the same contents give the same octets.
//! Never compresses: the archive lives in memory on both sides.

const MAGIC: &str = "070701";
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;
const TRAILER: &str = "TRAILER!!!";
/// Alignment of headers and contents.
const ALIGNMENT: usize = 4;

/// An archive under construction.
#[derive(Debug, Default)]
pub(super) struct Archive {
    octets: Vec<u8>,
    entries: u32,
}

impl Archive {
    pub fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER, (0, 0), &[]);
    }

    pub fn program(&mut self, path: &str, contents: &[u8]) {
        self.entry(path, PROGRAM, (0, 0), contents);
    }

    pub fn file(&mut self, path: &str, contents: &[u8]) {
        self.entry(path, FILE, (0, 0), contents);
    }

    /// Adds a character device by its major and minor number.
    pub fn device(&mut self, path: &str, number: (u32, u32)) {
        self.entry(path, CHARACTER_DEVICE, number, &[]);
    }

    /// Returns the archive with its end mark.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.octets
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
        self.entries += 1;
        let links = 1;
        // A file is 4 GiB at most; these are a program and some modules.
        let length = contents.len() as u32;
        let name_length = path.len() as u32 + 1;
        let fields =
            [self.entries, mode, 0, 0, links, 0, length, 0, 0, device.0, device.1, name_length, 0];
        self.octets.extend(MAGIC.as_bytes());
        for field in fields {
            self.octets.extend(format!("{field:08X}").as_bytes());
        }
        self.octets.extend(path.as_bytes());
        self.octets.push(0);
        self.align();
        self.octets.extend(contents);
        self.align();
    }

    fn align(&mut self) {
        self.octets.resize(self.octets.len().next_multiple_of(ALIGNMENT), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_laid_out_as_the_format_says() {
        let mut archive = Archive::default();
        archive.file("ab", b"xyz");
        let octets = archive.finish();
        // Six of magic, thirteen fields of eight, the name and its zero, padded.
        assert_eq!(&octets[..6], b"070701");
        assert_eq!(&octets[6 + 8..6 + 16], b"000081A4");
        assert_eq!(&octets[6 + 48..6 + 56], b"00000003");
        assert_eq!(&octets[6 + 88..6 + 96], b"00000003");
        assert_eq!(&octets[110..113], b"ab\0");
        assert_eq!(&octets[116..120], b"x\x79z\0".as_slice());
        assert_eq!(&octets[120..126], b"070701");
        assert!(octets.ends_with(b"TRAILER!!!\0\0\0\0") || octets.ends_with(b"TRAILER!!!\0"));
        assert!(octets.len().is_multiple_of(4));
    }
}
