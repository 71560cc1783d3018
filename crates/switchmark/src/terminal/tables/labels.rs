//! What a row is called: which way its frames went, and what the frames were.
//!
//! Owns these names, made once for all tables from the figures' conditions. Pure.

use std::collections::BTreeSet;

use page::Figure;

use super::condition;

/// The condition that holds a row's way: `device`, `cable`, `router gro`, `cable by bridge`.
pub const WAY: &str = "way";
/// The condition that holds what is measured, where there is more than one: `router gro`.
pub const SUBJECT: &str = "subject";
/// The condition that holds what the frames were: `64`, `imix`, `84 v6`.
pub const FRAMES: &str = "frames";

/// The figures with their labels among the conditions.
pub fn labelled(figures: &[Figure]) -> Vec<Figure> {
    let subjects: BTreeSet<String> = figures
        .iter()
        .filter(|f| condition(f, "path") == "device")
        .map(|f| name(f, "device", "variant"))
        .collect();
    let several = subjects.len() > 1;
    let label = |figure: &Figure| {
        let mut figure = figure.clone();
        let labels = [(WAY, way(&figure, several)), (FRAMES, frames(&figure))];
        let subject = if several { subject(&figure) } else { String::new() };
        for (key, text) in labels.into_iter().chain([(SUBJECT, subject)]) {
            figure.conditions.insert(key.to_owned(), text.into());
        }
        figure
    };
    figures.iter().map(label).collect()
}

fn way(figure: &Figure, several: bool) -> String {
    let path = condition(figure, "path");
    let beside = name(figure, "beside_device", "beside_variant");
    let way = match path.as_str() {
        "device" if several => name(figure, "device", "variant"),
        "bypass" if beside.is_empty() => "cable".to_owned(),
        "bypass" => format!("cable by {beside}"),
        _ => path,
    };
    match condition(figure, "direction").as_str() {
        "" => way,
        "forward" => format!("{way} ->"),
        "reverse" => format!("{way} <-"),
        both => format!("{way} {both}"),
    }
}

/// What a figure is about: its device, or the one that its cable is beside.
fn subject(figure: &Figure) -> String {
    if condition(figure, "path") == "device" {
        return name(figure, "device", "variant");
    }
    name(figure, "beside_device", "beside_variant")
}

fn name(figure: &Figure, device: &str, variant: &str) -> String {
    let (device, variant) = (condition(figure, device), condition(figure, variant));
    if variant.is_empty() { device } else { format!("{device} {variant}") }
}

fn frames(figure: &Figure) -> String {
    let mut text = condition(figure, "frame_size");
    if !condition(figure, "ip_version").is_empty() {
        text.push_str(" v6");
    }
    if !condition(figure, "vlan").is_empty() {
        text.push_str(" vlan");
    }
    let counts = ["source_ports", "destination_ports", "addresses"];
    let flows: f64 =
        counts.iter().filter_map(|key| condition(figure, key).parse::<f64>().ok()).product();
    if flows > 1.0 {
        text.push_str(" flows");
    }
    text
}
