//! Octets of the frames inside the model, found by the tag that it returns.
//!
//! Owns their memory, which is reused, and the number of remaining copies of each. A tag becomes
//! invalid with the frame's last copy: the next frame in the same slot has another one.

/// Sizes of slots: most frames are small or full-sized, and a slot for a full one is wasted on a
/// small one.
const SIZES: [usize; 3] = [256, 2048, 65_600];

/// All frames inside the model.
#[derive(Debug, Default)]
pub(super) struct Frames {
    places: Vec<Place>,
    free: [Vec<u32>; SIZES.len()],
}

#[derive(Debug)]
struct Place {
    memory: Box<[u8]>,
    octets: u32,
    /// Number of frames that used the slot; part of the tag.
    turn: u32,
    copies: u32,
    edge: u16,
}

impl Frames {
    /// Stores a frame that arrived at `edge` and returns its tag.
    #[inline]
    pub(super) fn keep(&mut self, octets: &[u8], edge: u16) -> u64 {
        let class = class_of(octets.len());
        let number = self.free[class].pop().unwrap_or_else(|| {
            let memory = vec![0; SIZES[class].max(octets.len())].into_boxed_slice();
            self.places.push(Place { memory, octets: 0, turn: 0, copies: 0, edge });
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[number as usize];
        place.memory[..octets.len()].copy_from_slice(octets);
        place.octets = octets.len() as u32;
        place.turn = place.turn.wrapping_add(1);
        place.copies = 1;
        place.edge = edge;
        u64::from(place.turn) << 32 | u64::from(number)
    }

    /// Octets of a frame; `None` if it has ended.
    #[inline]
    pub(super) fn octets(&self, tag: u64) -> Option<&[u8]> {
        let place = &self.places[tag as u32 as usize];
        (place.turn == (tag >> 32) as u32 && place.copies > 0)
            .then(|| &place.memory[..place.octets as usize])
    }

    /// Writable octets of a frame; `None` if it has ended.
    pub(super) fn octets_mut(&mut self, tag: u64) -> Option<&mut [u8]> {
        let place = self.place(tag)?;
        let octets = place.octets as usize;
        Some(&mut place.memory[..octets])
    }

    /// Edge at which the frame arrived.
    pub(super) fn edge(&self, tag: u64) -> usize {
        usize::from(self.places[tag as u32 as usize].edge)
    }

    /// Adds the copies that the model made.
    pub(super) fn copied(&mut self, tag: u64, copies: u16) {
        if let Some(place) = self.place(tag) {
            place.copies += u32::from(copies);
        }
    }

    /// Removes one copy, which has left or was dropped.
    #[inline]
    pub(super) fn ended(&mut self, tag: u64) {
        let Some(place) = self.place(tag) else { return };
        place.copies -= 1;
        if place.copies == 0 {
            let class = class_of(place.octets as usize);
            self.free[class].push(tag as u32);
        }
    }

    #[inline]
    fn place(&mut self, tag: u64) -> Option<&mut Place> {
        let place = self.places.get_mut(tag as u32 as usize)?;
        (place.turn == (tag >> 32) as u32 && place.copies > 0).then_some(place)
    }
}

#[inline]
fn class_of(octets: usize) -> usize {
    SIZES.iter().position(|size| octets <= *size).unwrap_or(SIZES.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_stays_until_its_last_copy_has_ended() {
        let mut frames = Frames::default();
        let tag = frames.keep(&[7; 60], 3);
        frames.copied(tag, 2);
        for _ in 0..3 {
            assert_eq!(frames.octets(tag), Some(&[7; 60][..]));
            assert_eq!(frames.edge(tag), 3);
            frames.ended(tag);
        }
        assert_eq!(frames.octets(tag), None);
        frames.ended(tag);
        let next = frames.keep(&[8; 61], 0);
        assert_eq!(next as u32, tag as u32, "the place is used again");
        assert_eq!((frames.octets(tag), frames.octets(next)), (None, Some(&[8; 61][..])));
    }

    #[test]
    fn places_fit_their_frames() {
        let mut frames = Frames::default();
        for octets in [0, 60, 256, 257, 1514, 2048, 2049, 9018, 65_600, 70_000] {
            let whole = vec![1; octets];
            let tag = frames.keep(&whole, 0);
            assert_eq!(frames.octets(tag), Some(&whole[..]));
        }
    }
}
