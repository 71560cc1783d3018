//! Effect of a round-trip difference on a storage whose operations cross the network.
//!
//! Owns the simplest case of the storage model: one operation at a time. Never predicts the
//! storage's own reaction, which is unknown here.

use measure::Nanos;

use super::Compared;
use page::Metric;

/// Storage operation as its user sees it with the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Latency of the operation.
    pub latency: Nanos,
    /// Number of sequential crossings of the compared network: two if a primary writes to a replica
    /// before it answers.
    pub hops: u32,
}

/// Effect on the operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    operation: Operation,
    /// Nanoseconds by which one direction is shorter: half of the round-trip difference.
    pub saved_one_way: f64,
}

impl Operation {
    /// Computes the effect from the first compared round trips, medians before means; `None`
    /// without any.
    pub fn worth(self, compared: &Compared) -> Option<Worth> {
        let row = compared.rows.iter().find(|row| row.metric == Metric::Rtt)?;
        let typical = measure::quantile::median;
        let saved = typical(&row.reference)? - typical(&row.subject)?;
        Some(Worth { operation: self, saved_one_way: saved / 2.0 })
    }
}

impl Worth {
    /// Nanoseconds saved per operation, with each hop shorter by one direction's saving.
    pub fn saved(&self) -> f64 {
        self.saved_one_way * f64::from(self.operation.hops)
    }

    /// Saving as a share of the operation.
    pub fn share(&self) -> f64 {
        self.saved() / self.operation.latency.0 as f64
    }

    /// Operations per second, one after the other: before and after.
    pub fn per_second(&self) -> (f64, f64) {
        let before = self.operation.latency.0 as f64;
        (1e9 / before, 1e9 / (before - self.saved()).max(1.0))
    }

    /// Effect in words.
    pub fn sentence(&self) -> String {
        let micros = |ns: f64| format!("{:.1} µs", ns.abs() / 1e3);
        let (before, after) = self.per_second();
        let word = if self.saved_one_way < 0.0 { "slower" } else { "faster" };
        let times = match self.operation.hops {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            many => format!("{many} times"),
        };
        format!(
            "{} {word} each way, half of what the round trips differ by. An operation of {} that crosses it {times} \
             becomes {} {word}, {:.1} % of it: {before:.0} operations a second, one after the other, would become \
             {after:.0}. Where the answer crosses it as slowly as the request, it is twice as much.",
            micros(self.saved_one_way),
            micros(self.operation.latency.0 as f64),
            micros(self.saved()),
            100.0 * self.share().abs(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published 72,712 and 38,444 ns of half a round trip: twice 34.3 us of 800 us.
    #[test]
    fn as_published() {
        let operation = Operation { latency: Nanos::from_micros(800), hops: 2 };
        let worth = Worth { operation, saved_one_way: 72_712.0 - 38_444.0 };
        assert!((worth.saved() - 68_536.0).abs() < 1e-9);
        assert!((worth.share() - 0.085_67).abs() < 1e-5);
        let (before, after) = worth.per_second();
        assert_eq!((before.round(), after.round()), (1250.0, 1367.0));
        assert!(worth.sentence().starts_with("34.3 µs faster each way"), "{}", worth.sentence());
        assert!(worth.sentence().contains("twice becomes 68.5 µs faster, 8.6 % of it"));
        let slower = Worth { saved_one_way: -39_500.0, ..worth };
        let said = slower.sentence();
        assert!(said.starts_with("39.5 µs slower each way") && !said.contains('-'), "{said}");
    }
}
