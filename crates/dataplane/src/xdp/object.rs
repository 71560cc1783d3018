//! BPF object file as written by the compiler: sections, symbols, and references from code to
//! memory.
//!
//! Owns the reading of 64-bit little-endian ELF, limited to the needs of our own programs. The
//! objects are ours and committed, so a defect in one is a build error. Never calls the kernel.

use std::collections::BTreeMap;

const SYMBOL_TABLE: u32 = 2;
const RELOCATIONS: u32 = 9;
const NO_BITS: u32 = 8;
/// `R_BPF_64_64`: a 64-bit immediate load of an address.
const ADDRESS: u32 = 1;

/// A section's place and contents.
#[derive(Debug, Clone)]
struct Section<'a> {
    name: &'a str,
    kind: u32,
    contents: &'a [u8],
    /// Length in memory, even if the file holds none of it.
    octets: usize,
    /// Index of the section that the relocations apply to.
    applies_to: usize,
}

#[derive(Debug, Clone, Copy)]
struct Symbol<'a> {
    name: &'a str,
    section: usize,
    at: usize,
    octets: usize,
}

/// An object file.
#[derive(Debug)]
pub(super) struct Object<'a> {
    sections: Vec<Section<'a>>,
    symbols: Vec<Symbol<'a>>,
}

/// Address needed by an instruction: of a section's memory, or of a map named by a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    pub section: &'a str,
    pub symbol: &'a str,
    /// Offset from the section's beginning.
    pub at: usize,
}

/// Address as the kernel takes it: a descriptor, and an offset into the map's only element, or the
/// map itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    Map(i32),
    Value(i32, u32),
}

/// Defect of an object file.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("read a bpf object: {0}")]
pub(super) struct ObjectError(pub String);

fn wrong<T>(why: impl Into<String>) -> Result<T, ObjectError> {
    Err(ObjectError(why.into()))
}

/// Reader of little-endian integers at an offset.
struct At<'a>(&'a [u8]);

impl<'a> At<'a> {
    fn part(&self, at: usize, octets: usize) -> Result<&'a [u8], ObjectError> {
        let end = at.checked_add(octets);
        match end.and_then(|end| self.0.get(at..end)) {
            Some(part) => Ok(part),
            None => wrong(format!("cut short at {at}")),
        }
    }

    fn number(&self, at: usize, octets: usize) -> Result<u64, ObjectError> {
        let part = self.part(at, octets)?;
        Ok(part.iter().rev().fold(0, |number, octet| number << 8 | u64::from(*octet)))
    }

    fn size(&self, at: usize, octets: usize) -> Result<usize, ObjectError> {
        Ok(self.number(at, octets)? as usize)
    }

    fn text(&self, at: usize) -> Result<&'a str, ObjectError> {
        let rest = self.0.get(at..).unwrap_or_default();
        let end = rest.iter().position(|octet| *octet == 0).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..end]).map_err(|e| ObjectError(e.to_string()))
    }
}

impl<'a> Object<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Self, ObjectError> {
        const HEADER: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
        const BPF: u64 = 247;
        const SECTION_OCTETS: usize = 64;
        let at = At(file);
        if at.part(0, HEADER.len())? != HEADER || at.number(18, 2)? != BPF {
            return wrong("not a little-endian bpf object");
        }
        let (table, count, names) = (at.size(40, 8)?, at.size(60, 2)?, at.size(62, 2)?);
        let mut sections = Vec::new();
        let names = At(raw_section(&at, table + names * SECTION_OCTETS)?.contents);
        for index in 0..count {
            let place = table + index * SECTION_OCTETS;
            let mut section = raw_section(&at, place)?;
            section.name = names.text(at.size(place, 4)?)?;
            sections.push(section);
        }
        let symbols = symbols(&at, &sections, table)?;
        Ok(Self { sections, symbols })
    }

    fn section(&self, name: &str) -> Result<(usize, &Section<'a>), ObjectError> {
        let found = self.sections.iter().enumerate().find(|(_, section)| section.name == name);
        found.map_or_else(|| wrong(format!("no section {name}")), Ok)
    }

    /// Length of a section in memory; `None` if there is no such section.
    pub fn octets_of(&self, section: &str) -> Option<usize> {
        self.section(section).ok().map(|(_, section)| section.octets)
    }

    /// Offset of a variable in its section, and its length.
    pub fn variable(&self, name: &str) -> Result<(usize, usize), ObjectError> {
        let found = self.symbols.iter().find(|symbol| symbol.name == name);
        found.map_or_else(|| wrong(format!("no variable {name}")), |s| Ok((s.at, s.octets)))
    }

    /// Returns every variable of a section with its contents.
    pub fn variables(&self, section: &str) -> BTreeMap<&'a str, &'a [u8]> {
        let Ok((index, section)) = self.section(section) else { return BTreeMap::new() };
        let inside = self.symbols.iter().filter(|s| s.section == index && s.octets > 0);
        inside
            .filter_map(|s| Some((s.name, section.contents.get(s.at..s.at + s.octets)?)))
            .collect()
    }

    /// Returns a section's instructions, with every reference resolved.
    pub fn program(
        &self,
        section: &str,
        resolve: impl Fn(Reference<'_>) -> Option<Address>,
    ) -> Result<Vec<u64>, ObjectError> {
        let (index, code) = self.section(section)?;
        let word = |octets: &[u8]| octets.iter().rev().fold(0, |n, o| n << 8 | u64::from(*o));
        let mut program: Vec<u64> = code.contents.chunks_exact(8).map(word).collect();
        let tables =
            self.sections.iter().filter(|s| s.kind == RELOCATIONS && s.applies_to == index);
        for relocation in tables.flat_map(|table| table.contents.chunks_exact(16)) {
            let at = At(relocation);
            let (place, kind) = (at.size(0, 8)? / 8, at.number(8, 4)? as u32);
            let (Some(symbol), true) = (self.symbols.get(at.size(12, 4)?), kind == ADDRESS) else {
                return wrong(format!("{section}: a relocation of kind {kind}"));
            };
            let Some([low, high, ..]) = program.get_mut(place..) else {
                return wrong(format!("{section}: a relocation past its end"));
            };
            let addend = (*low >> 32) as usize;
            let reference = Reference {
                section: self.sections.get(symbol.section).map_or("", |s| s.name),
                symbol: symbol.name,
                at: symbol.at + addend,
            };
            let Some(address) = resolve(reference) else {
                return wrong(format!("{section} refers to {}, which is nothing", symbol.name));
            };
            (*low, *high) = loads(*low, address);
        }
        Ok(program)
    }
}

/// Builds the two words of an instruction that loads an address; the target register stays.
fn loads(low: u64, address: Address) -> (u64, u64) {
    const MAP: u64 = 1;
    const VALUE: u64 = 2;
    let (source, fd, offset) = match address {
        Address::Map(fd) => (MAP, fd, 0),
        Address::Value(fd, offset) => (VALUE, fd, offset),
    };
    let instruction = low & 0x0fff | source << 12;
    (instruction | u64::from(fd as u32) << 32, u64::from(offset) << 32)
}

fn raw_section<'a>(at: &At<'a>, place: usize) -> Result<Section<'a>, ObjectError> {
    let kind = at.number(place + 4, 4)? as u32;
    let (offset, octets) = (at.size(place + 24, 8)?, at.size(place + 32, 8)?);
    let contents = if kind == NO_BITS { &[] } else { at.part(offset, octets)? };
    Ok(Section { name: "", kind, contents, octets, applies_to: at.size(place + 44, 4)? })
}

fn symbols<'a>(
    at: &At<'a>,
    sections: &[Section<'a>],
    table: usize,
) -> Result<Vec<Symbol<'a>>, ObjectError> {
    let mut symbols = Vec::new();
    for (index, section) in sections.iter().enumerate().filter(|(_, s)| s.kind == SYMBOL_TABLE) {
        let names = at.size(table + index * 64 + 40, 4)?;
        let names = At(sections.get(names).map(|s| s.contents).unwrap_or_default());
        for symbol in section.contents.chunks_exact(24) {
            let symbol = At(symbol);
            symbols.push(Symbol {
                name: names.text(symbol.size(0, 4)?)?,
                section: symbol.size(6, 2)?,
                at: symbol.size(8, 8)?,
                octets: symbol.size(16, 8)?,
            });
        }
    }
    Ok(symbols)
}
