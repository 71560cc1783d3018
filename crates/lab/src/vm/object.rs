//! Reading ELF files: a module's declared dependencies, and the part of a program that the kernel
//! loads.
//!
//! Owns the offsets of a 64-bit little-endian ELF header. Every read is checked: a damaged file is
//! an error, never a panic. Never writes one.

/// Start of an ELF file: `\x7fELF`, 64 bit, little endian.
const IDENTITY: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const PROGRAM_HEADERS_AT: usize = 0x20;
const SECTION_HEADERS_AT: usize = 0x28;
const PROGRAM_HEADER_SIZE_AT: usize = 0x36;
const SECTION_HEADER_SIZE_AT: usize = 0x3a;
const SECTION_NAMES_AT: usize = 0x3e;

/// Lists the dependencies that a module declares in its section `.modinfo`, by name; empty if it
/// has none.
pub(super) fn dependencies(module: &[u8]) -> Result<Vec<String>, &'static str> {
    let information = section(module, ".modinfo").ok_or("no module information in it")?;
    let named = information
        .split(|octet| *octet == 0)
        .find_map(|entry| entry.strip_prefix(b"depends="))
        .unwrap_or_default();
    let named = str::from_utf8(named).map_err(|_| "its dependencies are not text")?;
    Ok(named.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Number of octets from the start that the kernel needs to run the program. Symbols and debug
/// information, which may be ten times as much, come after.
pub(super) fn loaded_octets(program: &[u8]) -> Result<usize, &'static str> {
    const INTERPRETER: usize = 3;
    let mut interpreted = false;
    let mut loaded = || -> Option<usize> {
        program.starts_with(&IDENTITY).then_some(())?;
        let table = eight(program, PROGRAM_HEADERS_AT)?;
        let size = two(program, PROGRAM_HEADER_SIZE_AT)?;
        let mut end = table.checked_add(size * two(program, PROGRAM_HEADER_SIZE_AT + 2)?)?;
        for number in 0..two(program, PROGRAM_HEADER_SIZE_AT + 2)? {
            let header = program.get(table + number * size..)?;
            // Offset and length in the file of each header's segment.
            interpreted |= four(header, 0)? == INTERPRETER;
            end = end.max(eight(header, 0x08)?.checked_add(eight(header, 0x20)?)?);
        }
        (end <= program.len()).then_some(end)
    };
    let end = loaded().ok_or("not a 64-bit ELF program")?;
    if interpreted { Err("it is not statically linked") } else { Ok(end) }
}

fn section<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    object.starts_with(&IDENTITY).then_some(())?;
    let table = eight(object, SECTION_HEADERS_AT)?;
    let size = two(object, SECTION_HEADER_SIZE_AT)?;
    let count = two(object, SECTION_HEADER_SIZE_AT + 2)?;
    let header = |number: usize| object.get(table.checked_add(number * size)?..);
    let names = contents(object, header(two(object, SECTION_NAMES_AT)?)?)?;
    (0..count).find_map(|number| {
        let header = header(number)?;
        let called = names.get(four(header, 0)?..)?.split(|octet| *octet == 0).next()?;
        (called == name.as_bytes()).then(|| contents(object, header))?
    })
}

fn contents<'a>(object: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    let start = eight(header, 0x18)?;
    object.get(start..start.checked_add(eight(header, 0x20)?)?)
}

fn two(from: &[u8], at: usize) -> Option<usize> {
    let octets = from.get(at..at.checked_add(2)?)?.try_into().ok()?;
    Some(usize::from(u16::from_le_bytes(octets)))
}

fn four(from: &[u8], at: usize) -> Option<usize> {
    let octets = from.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(octets)).ok()
}

fn eight(from: &[u8], at: usize) -> Option<usize> {
    let octets = from.get(at..at.checked_add(8)?)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(octets)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with two sections after its header: their names, and module information.
    fn object(information: &[u8]) -> Vec<u8> {
        let names = b"\0.shstrtab\0.modinfo\0";
        let mut object = vec![0; 0x40];
        object[..6].copy_from_slice(&IDENTITY);
        let mut put = |at: usize, octets: &[u8]| {
            object[at..at + octets.len()].copy_from_slice(octets);
        };
        put(SECTION_HEADERS_AT, &0x40u64.to_le_bytes());
        put(SECTION_HEADER_SIZE_AT, &0x40u16.to_le_bytes());
        put(SECTION_HEADER_SIZE_AT + 2, &2u16.to_le_bytes());
        for (name, start, length) in
            [(1u32, 0xc0, names.len()), (11, 0xc0 + names.len(), information.len())]
        {
            let mut header = vec![0; 0x40];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(start as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
            object.extend(header);
        }
        [object, names.to_vec(), information.to_vec()].concat()
    }

    #[test]
    fn a_module_tells_what_it_needs() {
        let check = |information: &[u8], expected: &[&str]| {
            assert_eq!(dependencies(&object(information)).unwrap(), expected);
        };
        check(b"license=GPL\0depends=virtio,virtio_ring\0name=x\0", &["virtio", "virtio_ring"]);
        check(b"depends=\0", &[]);
        check(b"license=GPL\0", &[]);
        check(b"softdepends=x\0", &[]);
    }

    #[test]
    fn what_is_damaged_is_refused() {
        assert!(dependencies(b"").is_err());
        assert!(loaded_octets(b"#!/bin/sh\n").is_err());
        let whole = object(b"depends=virtio\0");
        for end in 0..whole.len() {
            let _ = dependencies(&whole[..end]);
            let _ = loaded_octets(&whole[..end]);
            let mut spoilt = whole.clone();
            spoilt[end] = 0xff;
            let _ = dependencies(&spoilt);
            let _ = loaded_octets(&spoilt);
        }
    }

    #[test]
    fn this_program_loads_less_than_it_is_long() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        let loaded = loaded_octets(&program).unwrap();
        assert!(0 < loaded && loaded <= program.len());
    }
}
