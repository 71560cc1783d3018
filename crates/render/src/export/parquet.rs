//! A table as an Apache Parquet file: plain, uncompressed, one row group, one page a column.
//!
//! Owns the bytes, so that a build needs no Parquet library (60 crates, a minute of two processors)
//! for a few thousand rows. Every column may lack values. Format:
//! <https://parquet.apache.org/docs/file-format/>; its headers are Thrift's compact protocol. Never
//! reads a file.

/// What a column holds, a value a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    /// UTF-8.
    Text(Vec<Option<String>>),
    /// 64-bit floats.
    Number(Vec<Option<f64>>),
    /// 64-bit whole numbers.
    Whole(Vec<Option<i64>>),
}

const MAGIC: &[u8] = b"PAR1";
/// Of `Type` in parquet.thrift.
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;
/// Of `Encoding`.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
/// Of `FieldRepetitionType`, and of `ConvertedType`.
const OPTIONAL: i64 = 1;
const UTF8: i64 = 0;

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Whole(values) => values.len(),
        }
    }

    const fn kind(&self) -> i64 {
        match self {
            Self::Text(_) => BYTE_ARRAY,
            Self::Number(_) => DOUBLE,
            Self::Whole(_) => INT64,
        }
    }

    /// Which rows have a value, as runs of a one-bit number with their length before them.
    fn levels(&self) -> Vec<u8> {
        let has: Vec<bool> = match self {
            Self::Text(values) => values.iter().map(Option::is_some).collect(),
            Self::Number(values) => values.iter().map(Option::is_some).collect(),
            Self::Whole(values) => values.iter().map(Option::is_some).collect(),
        };
        let mut runs = Vec::new();
        for run in has.chunk_by(|a, b| a == b) {
            varint(&mut runs, (run.len() as u64) << 1);
            runs.push(u8::from(run[0]));
        }
        let mut out = (runs.len() as u32).to_le_bytes().to_vec();
        out.extend(runs);
        out
    }

    fn values(&self) -> Vec<u8> {
        match self {
            Self::Number(values) => values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect(),
            Self::Whole(values) => values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect(),
            Self::Text(values) => {
                let one = |text: &String| {
                    let mut octets = (text.len() as u32).to_le_bytes().to_vec();
                    octets.extend(text.as_bytes());
                    octets
                };
                values.iter().flatten().flat_map(one).collect()
            }
        }
    }
}

/// The file's octets, made `by` a program. All columns are of one length.
pub(super) fn file(columns: &[(String, Column)], by: &str) -> Vec<u8> {
    let rows = columns.first().map_or(0, |(_, column)| column.len()) as i64;
    let mut out = MAGIC.to_vec();
    let mut chunks = Vec::new();
    for (name, column) in columns {
        let offset = out.len() as i64;
        let mut page = column.levels();
        page.extend(column.values());
        let size = page.len() as i64;
        let header = Thrift::new()
            .int(1, 0)
            .int(2, size)
            .int(3, size)
            .inner(5, Thrift::new().int(1, rows).int(2, PLAIN).int(3, RLE).int(4, RLE));
        out.extend(header.end());
        out.extend(page);
        let whole = out.len() as i64 - offset;
        let meta = Thrift::new()
            .int(1, column.kind())
            .ints(2, &[PLAIN, RLE])
            .texts(3, &[name])
            .int(4, 0)
            .long(5, rows)
            .long(6, whole)
            .long(7, whole)
            .long(9, offset);
        chunks.push((whole, Thrift::new().long(2, offset).inner(3, meta)));
    }
    let total = chunks.iter().map(|(whole, _)| whole).sum();
    let group = Thrift::new()
        .inners(1, chunks.into_iter().map(|(_, chunk)| chunk).collect())
        .long(2, total)
        .long(3, rows);
    let root = Thrift::new().text(4, "switchmark").int(5, columns.len() as i64);
    let leaves = columns.iter().map(|(name, column)| {
        let leaf = Thrift::new().int(1, column.kind()).int(3, OPTIONAL).text(4, name);
        if matches!(column, Column::Text(_)) { leaf.int(6, UTF8) } else { leaf }
    });
    let footer = Thrift::new()
        .int(1, 1)
        .inners(2, std::iter::once(root).chain(leaves).collect())
        .long(3, rows)
        .inners(4, vec![group])
        .text(6, by)
        .end();
    let length = (footer.len() as u32).to_le_bytes();
    out.extend(footer);
    out.extend(length);
    out.extend(MAGIC);
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign as small ones without.
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// One structure of Thrift's compact protocol; fields come in ascending order.
#[derive(Debug, Default)]
struct Thrift {
    octets: Vec<u8>,
    last: u8,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Thrift {
    fn new() -> Self {
        Self::default()
    }

    fn field(&mut self, id: u8, kind: u8) {
        self.octets.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn int(mut self, id: u8, value: i64) -> Self {
        self.field(id, I32);
        varint(&mut self.octets, zigzag(value));
        self
    }

    fn long(mut self, id: u8, value: i64) -> Self {
        self.field(id, I64);
        varint(&mut self.octets, zigzag(value));
        self
    }

    fn text(mut self, id: u8, text: &str) -> Self {
        self.field(id, BINARY);
        binary(&mut self.octets, text);
        self
    }

    fn inner(mut self, id: u8, inner: Self) -> Self {
        self.field(id, STRUCT);
        self.octets.extend(inner.end());
        self
    }

    fn list(&mut self, id: u8, kind: u8, count: usize) {
        self.field(id, LIST);
        // Fifteen and more have their number behind the byte.
        if count < 15 {
            self.octets.push((count as u8) << 4 | kind);
        } else {
            self.octets.push(0xf0 | kind);
            varint(&mut self.octets, count as u64);
        }
    }

    fn ints(mut self, id: u8, values: &[i64]) -> Self {
        self.list(id, I32, values.len());
        for value in values {
            varint(&mut self.octets, zigzag(*value));
        }
        self
    }

    fn texts(mut self, id: u8, values: &[&str]) -> Self {
        self.list(id, BINARY, values.len());
        for value in values {
            binary(&mut self.octets, value);
        }
        self
    }

    fn inners(mut self, id: u8, values: Vec<Self>) -> Self {
        self.list(id, STRUCT, values.len());
        for value in values {
            self.octets.extend(value.end());
        }
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.octets.push(0);
        self.octets
    }
}

fn binary(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_thrift_has_them() {
        for (value, expected) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1)] {
            assert_eq!(zigzag(value), expected);
        }
        let mut out = Vec::new();
        varint(&mut out, 300);
        assert_eq!(out, [0xac, 0x02]);
    }

    /// Octets that the library `parquet` (crate, 60.1.0) was seen to read as these rows.
    #[test]
    fn a_file_is_as_others_read_it() {
        let text = |value: &str| Some(value.to_owned());
        let columns = [
            ("metric".to_owned(), Column::Text(vec![text("rtt"), None, text("µs, \"quoted\"")])),
            ("value".to_owned(), Column::Number(vec![Some(1.5), None, Some(-0.25)])),
            ("n".to_owned(), Column::Whole(vec![Some(-7), Some(1 << 40), None])),
        ];
        let file = file(&columns, "switchmark 1");
        assert_eq!(file, include_bytes!("three-columns.parquet"));
        let at = file.len() - 8;
        let length = u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        // The footer's first field is the version, 1.
        assert_eq!(&file[at - length..at - length + 2], [0x15, 0x02]);
        assert_eq!(columns[0].1.levels(), [6, 0, 0, 0, 2, 1, 2, 0, 2, 1]);
    }
}
