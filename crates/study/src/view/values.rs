//! Values inside a study's finding: each once, in the order of the rows.
//!
//! Owns the way from a structure to its rows. Never decides their contents.

use std::collections::BTreeMap;

use page::Figure;

/// Structure with values in it.
pub trait Values {
    /// Adds every value, in the order of the rows.
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>);

    /// Collects every value, in the order of the rows.
    fn values(&mut self) -> Vec<&mut Figure> {
        let mut all = Vec::new();
        self.gather(&mut all);
        all
    }
}

impl Values for Figure {
    fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
        all.push(self);
    }
}

/// Implements [`Values`] for containers of values.
macro_rules! containers {
    ($($container:ty, [$($generic:tt)*], $each:ident;)+) => {$(
        impl<T: Values, $($generic)*> Values for $container {
            fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut Figure>) {
                for one in self.$each() {
                    one.gather(all);
                }
            }
        }
    )+};
}

containers! {
    Option<T>, [], iter_mut;
    Vec<T>, [], iter_mut;
    [T; N], [const N: usize], iter_mut;
    BTreeMap<K, T>, [K: Ord], values_mut;
}

/// Implements [`Values`] for structures, by the fields that hold them, in the order of the rows.
macro_rules! values {
    ($($structure:ty: $($($field:ident).+),+;)+) => {$(
        impl $crate::view::Values for $structure {
            fn gather<'a>(&'a mut self, all: &mut Vec<&'a mut page::Figure>) {
                $($crate::view::Values::gather(&mut self.$($field).+, all);)+
            }
        }
    )+};
}

pub(crate) use values;
