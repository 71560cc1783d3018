//! Ranges of ports.
