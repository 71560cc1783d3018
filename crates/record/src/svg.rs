//! Plots as SVG text.
