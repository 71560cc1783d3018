//! The testbed as a picture: hosts above, devices below, test cables between them, direct cables as
//! arcs over the hosts. Lays out whatever testbed it gets; never checks one.

use std::fmt::Write as _;

use page::{PicturedCable, PicturedPort, TestbedPicture};

use super::{escape, shorten};

const PORT_HEIGHT: f64 = 50.0;
const HOST_HEAD: f64 = 30.0;
const MARGIN: f64 = 16.0;
const ARC: f64 = 46.0;
const DROP: f64 = 62.0;
const DEVICE_HEIGHT: f64 = 50.0;
/// With more ports than this, each has room for its name alone, so that all are legible at once.
const MOST_ROOMY: usize = 6;
/// A picture is never drawn smaller than this: beyond that it is scrolled.
const LEAST: f64 = 0.88;

/// Width of ports, distance between hosts, and characters that fit into a port.
#[derive(Clone, Copy)]
struct Room {
    port: f64,
    gap: f64,
    chars: usize,
}

impl Room {
    fn for_testbed(testbed: &TestbedPicture) -> Self {
        let ports: usize = testbed.hosts.iter().map(|h| h.ports.len()).sum();
        if ports > MOST_ROOMY {
            Self { port: 70.0, gap: 14.0, chars: 9 }
        } else {
            Self { port: 136.0, gap: 44.0, chars: 19 }
        }
    }

    const fn is_roomy(self) -> bool {
        self.chars > 9
    }
}

/// A port that was given its place.
struct Placed<'a> {
    host: &'a str,
    port: &'a PicturedPort,
    x: f64,
}

/// Hosts, devices and cables. A cable's path names its test ports in `data-ports`, one or two, so
/// that a page may colour it.
pub(super) fn draw(testbed: &TestbedPicture) -> String {
    let room = Room::for_testbed(testbed);
    let mut out = String::new();
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let ports = testbed.hosts.iter().flat_map(|host| &host.ports);
    let has_arcs = ports.into_iter().any(|p| matches!(p.cable, PicturedCable::Host { .. }));
    let top = if has_arcs { MARGIN + ARC } else { MARGIN };
    let mut x = MARGIN;
    for host in &testbed.hosts {
        let width = room.port * host.ports.len().max(1) as f64;
        write_svg(
            &mut out,
            format_args!(
                r#"<g><title>{0}</title><rect class="host" x="{x}" y="{top}" width="{width}" height="{1}" rx="5"/><text class="name" x="{2}" y="{3}" text-anchor="middle">{4}</text></g>"#,
                escape(&host.text),
                HOST_HEAD + PORT_HEIGHT,
                x + width / 2.0,
                top + 20.0,
                escape(&shorten(&host.name, room.chars * host.ports.len().max(1)))
            ),
        );
        for (i, port) in host.ports.iter().enumerate() {
            let left = x + i as f64 * room.port;
            draw_port(&mut out, port, left, top + HOST_HEAD, room);
            placed.push(Placed { host: &host.name, port, x: left + room.port / 2.0 });
        }
        x += width + room.gap;
    }
    let width = (x - room.gap + MARGIN).max(420.0);
    let under = top + HOST_HEAD + PORT_HEIGHT;
    draw_devices(&mut out, testbed, &placed, width, under);
    draw_arcs(&mut out, &placed, top);
    let height =
        if testbed.devices.is_empty() { under } else { under + DROP + DEVICE_HEIGHT } + MARGIN;
    format!(
        r#"<svg class="testbed" viewBox="0 0 {width} {height}" style="min-width:{}px;max-width:{width}px" role="img" aria-label="{}">{out}</svg>"#,
        (width * LEAST).round(),
        escape(&testbed.title)
    )
}

fn write_svg(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string succeeds");
}

fn draw_port(out: &mut String, port: &PicturedPort, left: f64, top: f64, room: Room) {
    let lines = if room.is_roomy() {
        let known = [&port.name, &port.rate].map(String::as_str);
        let known: Vec<&str> = known.into_iter().filter(|text| !text.is_empty()).collect();
        [known.join(", "), port.address.clone()]
    } else {
        [port.name.clone(), port.rate.clone()]
    };
    write_svg(
        out,
        format_args!(
            r#"<g><title>{0}</title><rect class="port" x="{1}" y="{top}" width="{2}" height="{3}" rx="3"/><text class="tick" x="{4}" y="{5}" text-anchor="middle">{6}</text><text class="tick" x="{4}" y="{7}" text-anchor="middle">{8}</text></g>"#,
            escape(&port.text),
            left + 4.0,
            room.port - 8.0,
            PORT_HEIGHT - 6.0,
            left + room.port / 2.0,
            top + 18.0,
            escape(&shorten(&lines[0], room.chars)),
            top + 35.0,
            escape(&shorten(&lines[1], room.chars))
        ),
    );
}

/// Draws devices, each under the middle of its ports, pushed apart where they would overlap.
fn draw_devices(
    out: &mut String,
    testbed: &TestbedPicture,
    placed: &[Placed<'_>],
    width: f64,
    under: f64,
) {
    let count = testbed.devices.len().max(1) as f64;
    let room = (width - 2.0 * MARGIN) / count;
    // Names of the device's ports, as long as the cables leave room for.
    let apart = placed.windows(2).map(|two| two[1].x - two[0].x).fold(room, f64::min);
    let chars = ((apart - 8.0) / 6.6).clamp(3.0, 12.0) as usize;
    for (i, device) in testbed.devices.iter().enumerate() {
        let left = MARGIN + i as f64 * room + 8.0;
        let right = left + room - 16.0;
        let top = under + DROP;
        for end in placed {
            if let PicturedCable::Device { name, port } = &end.port.cable
                && *name == device.name
            {
                let at = end.x.clamp(left + 14.0, right - 14.0);
                let title = format!("{}/{} to {name}/{port}", end.host, end.port.name);
                write_svg(
                    out,
                    format_args!(
                        r#"<path class="cable" data-ports="{0}" d="M{1} {under}L{at} {top}"><title>{2}</title></path><text class="tick" x="{3}" y="{4}">{5}</text>"#,
                        escape(&format!("{}/{}", end.host, end.port.name)),
                        end.x,
                        escape(&title),
                        at + 6.0,
                        top - 8.0,
                        escape(&shorten(port, chars))
                    ),
                );
            }
        }
        write_svg(
            out,
            format_args!(
                r#"<rect class="device" x="{left}" y="{top}" width="{0}" height="{DEVICE_HEIGHT}" rx="5"/><text class="name" x="{1}" y="{2}" text-anchor="middle">{3}</text><text class="tick" x="{1}" y="{4}" text-anchor="middle">{5}</text>"#,
                right - left,
                f64::midpoint(left, right),
                top + 21.0,
                escape(&shorten(&device.name, ((right - left) / 8.0) as usize)),
                top + 39.0,
                escape(&shorten(&device.kind, ((right - left) / 6.6) as usize))
            ),
        );
    }
}

/// Draws each direct cable once, from the port that comes first.
fn draw_arcs(out: &mut String, placed: &[Placed<'_>], top: f64) {
    for (i, end) in placed.iter().enumerate() {
        let PicturedCable::Host { name, port } = &end.port.cable else { continue };
        let far = placed.iter().position(|p| p.host == name && p.port.name == *port);
        if let Some(far) = far.filter(|far| *far > i) {
            let title = format!("direct cable {}/{} to {name}/{port}", end.host, end.port.name);
            write_svg(
                out,
                format_args!(
                    r#"<path class="cable direct" data-ports="{3} {4}" d="M{0} {top}C{0} {1} {2} {1} {2} {top}"><title>{5}</title></path>"#,
                    end.x,
                    top - ARC,
                    placed[far].x,
                    escape(&format!("{}/{}", end.host, end.port.name)),
                    escape(&format!("{name}/{port}")),
                    escape(&title)
                ),
            );
        }
    }
}
