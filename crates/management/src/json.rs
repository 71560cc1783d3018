//! A command's JSON as an account, by a map of JSONPath (RFC 9535).
//!
//! Owns where a port is in a path: at the first place that stands for many, `[*]`, `.*` or a
//! filter. Never looks for a name that the map does not say.
