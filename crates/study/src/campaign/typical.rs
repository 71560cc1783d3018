//! Figures that represent a combination: medians and rates through the device.
//!
//! Never computes one.

use page::{Figure, Key, words};

use crate::comparison::better;

/// Medians and rates through the device.
pub(super) fn typical(figures: &[Figure]) -> Vec<&Figure> {
    let asked = |figure: &&Figure| {
        let convention = figure.condition_text(Key::RateConvention);
        better(figure.metric).is_some()
            && !figure.is_bypass()
            && figure.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9)
            && convention.is_none_or(|told| told == "payload")
    };
    figures.iter().filter(asked).collect()
}

/// `rtt p50`
pub fn name(figure: &Figure) -> String {
    let quantile = figure.quantile.map_or_else(String::new, |q| format!(" {}", words::quantile(q)));
    format!("{}{quantile}", figure.metric.as_str())
}
