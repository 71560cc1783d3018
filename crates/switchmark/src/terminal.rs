//! What people see in a terminal: progress, tables, units. Never decides what is measured.
