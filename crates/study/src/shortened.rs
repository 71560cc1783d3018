//! Frames shortened to what a tunnel carries.
//!
//! Owns which studies have frame sizes that may be shortened. Never lengthens one.

use measure::{FrameMix, FrameSize};

use super::StudySpec;
use super::buffer::Mtu;

impl StudySpec {
    /// Shortens all frames of `latency`, `forwarding` and `buffer` to at most `most`, and returns
    /// the sizes that were longer. Sizes that become alike are measured once.
    pub fn shorten_frames(&mut self, most: FrameSize) -> Vec<FrameSize> {
        let mut longer = Vec::new();
        let mut shorten = |size: FrameSize| {
            if size > most {
                longer.push(size);
            }
            size.min(most)
        };
        match self {
            Self::Latency(spec) => {
                let mut sizes: Vec<FrameSize> = Vec::new();
                for size in spec.sizes.iter().map(|size| shorten(*size)) {
                    if !sizes.contains(&size) {
                        sizes.push(size);
                    }
                }
                spec.sizes = sizes;
            }
            Self::Forwarding(spec) => {
                let mut frames: Vec<FrameMix> = Vec::new();
                for mix in &spec.frames {
                    let sizes = mix.pattern().iter().map(|size| shorten(*size)).collect();
                    let mix = FrameMix::new(sizes).expect("as long as a legal mix");
                    if !frames.contains(&mix) {
                        frames.push(mix);
                    }
                }
                spec.frames = frames;
            }
            Self::Buffer(spec) => {
                spec.background_size = shorten(spec.background_size);
                let octets = spec.mtu.get().min(most.mtu());
                spec.mtu = Mtu::new(octets).unwrap_or(spec.mtu);
            }
            _ => {}
        }
        longer.sort_unstable();
        longer.dedup();
        longer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ForwardingSpec, LatencySpec};

    #[test]
    fn only_what_is_longer_is_shortened() {
        let most = FrameSize::new(1438).expect("legal");
        let mut study = StudySpec::Latency(LatencySpec::quick());
        assert_eq!(study.shorten_frames(most), [FrameSize::STANDARD_MAX]);
        assert!(study.shorten_frames(most).is_empty());
        let StudySpec::Latency(spec) = &study else { panic!("it is still one") };
        assert_eq!(spec.sizes, [FrameSize::MIN, most]);
        let mut study = StudySpec::Forwarding(ForwardingSpec::quick());
        assert_eq!(study.shorten_frames(most), [FrameSize::STANDARD_MAX]);
    }
}
