//! Loading of an object file's programs into the kernel: creates its memory and maps, and fixes its
//! settings.
//!
//! Owns the maps that the programs refer to. Never attaches anything.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::bpf::{self, MapShape, ProgramKind, flag, kind};
use super::memory::{Mapped, Shared};
use super::object::{Address, Object, ObjectError, Reference};
use crate::unfit::Unfit;

/// Sections of an object that become a map each: settings, which programs only read, and memory
/// that they write.
const SETTINGS: &str = ".rodata";
const MEMORY: &str = ".bss";
const MAPS: &str = "maps";

/// Object whose maps exist.
#[derive(Debug)]
pub(super) struct Programs {
    object: Object<'static>,
    name: &'static str,
    maps: BTreeMap<&'static str, OwnedFd>,
}

/// Explains a kernel refusal in the words of a report.
pub(super) fn refusal(deed: &str, cause: &io::Error) -> Unfit {
    refusal_without("CAP_BPF and CAP_NET_ADMIN", deed, cause)
}

/// Explains a kernel refusal for an action that needs the given capabilities.
pub(super) fn refusal_without(capabilities: &str, deed: &str, cause: &io::Error) -> Unfit {
    Unfit::NotHere(match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            format!("{deed} is not permitted ({capabilities} of the host are needed)")
        }
        Some(libc::ENOSYS) => {
            format!("{deed} is not in this kernel, or a seccomp filter hides it")
        }
        _ => format!("{deed} failed ({cause})"),
    })
}

fn broken(error: ObjectError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Programs {
    /// Creates the memory of `file`'s programs, with `settings` for each read-only variable, and
    /// its maps. `like` gives for each array of maps a sample of the maps that it will hold.
    pub fn new(
        name: &'static str,
        file: &'static [u8],
        settings: &[(&str, Cow<'_, [u8]>)],
        like: &[(&str, BorrowedFd<'_>)],
    ) -> Result<Self, Unfit> {
        Self::make(name, file, settings, like)
            .map_err(|e| refusal("making the memory of an xdp program", &e))
    }

    fn make(
        name: &'static str,
        file: &'static [u8],
        settings: &[(&str, Cow<'_, [u8]>)],
        like: &[(&str, BorrowedFd<'_>)],
    ) -> io::Result<Self> {
        let object = Object::parse(file).map_err(broken)?;
        let mut maps = BTreeMap::new();
        if let Some(octets) = object.octets_of(SETTINGS) {
            maps.insert(SETTINGS, settings_map(&object, octets, settings)?);
        }
        if let Some(octets) = object.octets_of(MEMORY).filter(|octets| *octets > 0) {
            let shape = MapShape { flags: flag::MEMORY, ..one(octets) };
            maps.insert(MEMORY, bpf::create_map("switchmark", shape, None)?);
        }
        for (map, definition) in object.variables(MAPS) {
            let like = like.iter().find(|(of, _)| *of == map).map(|(_, fd)| *fd);
            maps.insert(map, bpf::create_map(map, shape(definition)?, like)?);
        }
        Ok(Self { object, name, maps })
    }

    /// Loads the program of a section.
    pub fn load(&self, section: &str, kind: ProgramKind) -> Result<OwnedFd, Unfit> {
        let resolve = |reference: Reference<'_>| {
            let map = |name: &str| self.maps.get(name).map(AsRawFd::as_raw_fd);
            match reference.section {
                MAPS => map(reference.symbol).map(Address::Map),
                section => map(section).map(|fd| Address::Value(fd, reference.at as u32)),
            }
        };
        let attempt = self
            .object
            .program(section, resolve)
            .map_err(broken)
            .and_then(|code| bpf::load_program(self.name, kind, &code));
        attempt.map_err(|e| refusal("loading an xdp program", &e))
    }

    /// A map by name.
    pub fn map(&self, name: &str) -> Result<BorrowedFd<'_>, Unfit> {
        self.maps.get(name).map(AsFd::as_fd).ok_or_else(|| {
            let error = broken(ObjectError(format!("no map {name}")));
            refusal("finding the maps of an xdp program", &error)
        })
    }

    /// Returns the only variable that the programs write, in memory shared with them.
    pub fn memory<T: Shared>(&self, variable: &str) -> Result<Mapped<T>, Unfit> {
        let map = || -> io::Result<Mapped<T>> {
            let (at, octets) = self.object.variable(variable).map_err(broken)?;
            let all = self.object.octets_of(MEMORY).unwrap_or(0);
            let Some(memory) = self.maps.get(MEMORY).filter(|_| at == 0 && octets == all) else {
                return Err(broken(ObjectError(format!("{variable} is not alone in its section"))));
            };
            if octets != size_of::<T>() {
                let shapes = format!("{variable} has {octets} octets, not {}", size_of::<T>());
                return Err(broken(ObjectError(shapes)));
            }
            Mapped::new(memory, octets)
        };
        map().map_err(|e| refusal("sharing memory with an xdp program", &e))
    }
}

/// Shape of a map with one element of the given octets.
fn one(octets: usize) -> MapShape {
    MapShape { kind: kind::ARRAY, key_octets: 4, value_octets: octets as u32, entries: 1, flags: 0 }
}

fn settings_map(
    object: &Object<'_>,
    octets: usize,
    settings: &[(&str, Cow<'_, [u8]>)],
) -> io::Result<OwnedFd> {
    let mut contents = vec![0; octets];
    for (variable, value) in settings {
        let (at, octets) = object.variable(variable).map_err(broken)?;
        if value.len() > octets {
            return Err(broken(ObjectError(format!("{variable} takes {octets} octets"))));
        }
        contents[at..at + value.len()].copy_from_slice(value);
    }
    let shape = MapShape { flags: flag::READ_ONLY_PROGRAM, ..one(octets) };
    let map = bpf::create_map("switchmark", shape, None)?;
    bpf::update(&map, 0, &contents)?;
    bpf::freeze(&map)?;
    Ok(map)
}

/// Parses `struct map` of `program.h`.
fn shape(definition: &[u8]) -> io::Result<MapShape> {
    let mut words = definition
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes(word.try_into().expect("four octets")));
    let mut next = || words.next().ok_or_else(|| broken(ObjectError("a map's shape".to_owned())));
    Ok(MapShape {
        kind: next()?,
        key_octets: next()?,
        value_octets: next()?,
        entries: next()?,
        flags: next()?,
    })
}
