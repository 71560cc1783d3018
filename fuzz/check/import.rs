//! What must hold of any octets taken for a tool's output: they are refused in words or read, every
//! figure is a finite number, and every line that was not understood is one of the file's.

/// Panics where the reader breaks its promise on `octets`.
pub fn import(octets: &[u8]) {
    let read = match import::read(octets) {
        Ok(read) => read,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for figure in &read.figures {
        if let Some(value) = figure.value {
            assert!(value.is_finite(), "{figure:?}");
        }
    }
    let lines = String::from_utf8_lossy(octets).lines().count();
    assert!(read.unread.iter().all(|one| (1..=lines.max(1)).contains(&one.line)));
}
