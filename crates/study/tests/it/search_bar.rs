//! The searches against one another, on a device with a buffer that stalls now and then: what each
//! takes in traffic time, and how far its answers scatter over fifty seeds. All of it in virtual
//! time.
//!
//! Prints the table of docs/methods/searches.md: `cargo test -p study --test it search_bar:: --
//! --nocapture`.

use std::fmt::{self, Write as _};

use measure::quantile::median;
use measure::{FrameRate, Nanos};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use study::search::{
    Attempt, BinarySearch, Goal, GoalName, GoalResult, LoadRange, MlrSearch, Search, Seen, Step,
    begin,
};

const SEEDS: u64 = 50;
const MAX: FrameRate = FrameRate(1_000_000.0);
const RANGE: LoadRange = LoadRange { min: FrameRate(2.0), max: MAX };

/// On average so long, in seconds of traffic, from one stall to the next.
const BETWEEN_STALLS: f64 = 100.0;

/// A device that forwards so many frames a second, holds so many, and forwards nothing while it
/// stalls. Its time is that of the traffic offered to it.
struct Device {
    capacity: f64,
    buffer: f64,
    chance: Pcg64,
    now: f64,
    /// When the next stall begins and ends.
    stall: (f64, f64),
}

impl Device {
    fn new(capacity: f64, seed: u64, stalling: bool) -> Self {
        let chance = Pcg64::seed_from_u64(seed);
        let stall = (f64::INFINITY, f64::INFINITY);
        let mut device = Self { capacity, buffer: 256.0, chance, now: 0.0, stall };
        if stalling {
            device.stall = device.next_stall();
        }
        device
    }

    /// Stalls come at random, 100 s apart on average, and last between 10 and 300 ms.
    fn next_stall(&mut self) -> (f64, f64) {
        let gap = -BETWEEN_STALLS * (1.0 - self.chance.random_range(0.0..1.0_f64)).ln();
        let begin = self.now + gap;
        (begin, begin + self.chance.random_range(0.01..0.3))
    }

    /// The queue is a fluid: it fills by what comes less what goes, and overflows.
    fn forward(&mut self, attempt: Attempt) -> Seen {
        let rate = attempt.rate.0;
        let end = self.now + attempt.duration.as_secs_f64();
        let (mut queued, mut lost) = (0.0, 0.0);
        while self.now < end {
            let stalled = self.now >= self.stall.0;
            let until = if stalled { self.stall.1 } else { self.stall.0 }.min(end);
            let forwarded = if stalled { 0.0 } else { self.capacity };
            let level: f64 = queued + (rate - forwarded) * (until - self.now);
            lost += (level - self.buffer).max(0.0);
            queued = level.clamp(0.0, self.buffer);
            self.now = until;
            if self.now >= self.stall.1 {
                self.stall = self.next_stall();
            }
        }
        let sent = (rate * attempt.duration.as_secs_f64()).round() as u64;
        Seen::Counted { offered: attempt.rate, sent, lost: (lost.ceil() as u64).min(sent) }
    }
}

/// One after the other on the same device; the results in the order of their goals.
fn run(searches: Vec<Box<dyn Search>>, device: &mut Device) -> Vec<GoalResult> {
    let mut results = Vec::new();
    for mut search in searches {
        let found = loop {
            match search.next() {
                Step::Try(attempt) => search.learn(device.forward(attempt)),
                Step::Done(results) => break results,
            }
        };
        results.extend(found);
    }
    results
}

/// One way to find the non-drop rate and the partial-drop rate.
struct Contender {
    name: &'static str,
    searches: fn() -> Vec<Box<dyn Search>>,
}

/// Plain binary search as RFC 2544 is commonly automated: one trial a load decides.
fn binary(initial: u64, trials: u64) -> Vec<Box<dyn Search>> {
    let search = |of: Goal| -> Box<dyn Search> {
        let goal = Goal {
            exceed_ratio: if trials == 1 { 0.0 } else { 0.5 },
            initial_duration: Nanos::from_secs(initial),
            final_duration: Nanos::from_secs(60),
            duration_sum: Nanos::from_secs(60 * trials),
            ..of
        };
        Box::new(BinarySearch::new(goal, RANGE))
    };
    vec![search(Goal::ndr()), search(Goal::pdr())]
}

fn mlr(goals: &[Goal]) -> Vec<Box<dyn Search>> {
    vec![Box::new(MlrSearch::new(goals.to_vec(), RANGE))]
}

const CONTENDERS: [Contender; 5] = [
    Contender { name: "binary search, 60 s trials", searches: || binary(60, 1) },
    Contender { name: "the same, 10 s on the way", searches: || binary(10, 1) },
    Contender { name: "with loss verification", searches: || binary(60, 2) },
    Contender { name: "MLRsearch", searches: || mlr(&[Goal::ndr(), Goal::pdr()]) },
    Contender {
        name: "MLRsearch, quick",
        searches: || mlr(&[Goal::quick(GoalName::Ndr), Goal::quick(GoalName::Pdr)]),
    },
];

/// Over the seeds.
struct Outcome {
    trials: f64,
    traffic_s: f64,
    /// Found over true, sorted; the non-drop rate and the partial-drop rate.
    found: [Vec<f64>; 2],
}

impl Outcome {
    fn of(contender: &Contender, devices: impl Iterator<Item = Device>) -> Self {
        let (mut trials, mut traffic, mut found) = (Vec::new(), Vec::new(), [vec![], vec![]]);
        for mut device in devices {
            let searches = (contender.searches)();
            let one_each = searches.len() == 2;
            let results = run(searches, &mut device);
            // The results of one search repeat what all of it took.
            let own = if one_each { &results[..] } else { &results[..1] };
            trials.push(own.iter().map(|result| f64::from(result.trials)).sum());
            traffic.push(own.iter().map(|result| result.traffic_time.as_secs_f64()).sum());
            for ((found, result), truth) in found.iter_mut().zip(&results).zip([1.0, 1.0 / 0.995]) {
                let lower = result.relevant_lower.map_or(0.0, |rate| rate.0);
                found.push(lower / (device.capacity * truth));
            }
        }
        for found in &mut found {
            found.sort_by(f64::total_cmp);
        }
        let middle = |values: &[f64]| median(values).expect("seeds were run");
        Self { trials: middle(&trials), traffic_s: middle(&traffic), found }
    }

    fn spread(&self, goal: usize) -> Spread {
        let found = &self.found[goal];
        let (quarter, last) = (found.len() / 4, found.len() - 1);
        Spread {
            median: median(found).expect("seeds were run"),
            iqr: found[last - quarter] - found[quarter],
            least: found[0],
            most: found[last],
        }
    }
}

/// Of what was found, relative to the truth.
struct Spread {
    median: f64,
    /// How wide the middle half is.
    iqr: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn range(&self) -> f64 {
        self.most - self.least
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, iqr, least, most } = self;
        write!(f, "{median:.4} | {iqr:.4} | {least:.3}…{most:.3}")
    }
}

/// All contenders on the same devices, made anew for each.
fn compare<D: Iterator<Item = Device>>(title: &str, devices: impl Fn() -> D) -> Vec<Outcome> {
    let mut table = format!(
        "\n{title}\n| search | trials | traffic | NDR / true | IQR | range | PDR / true | IQR | range |\n"
    );
    let mut outcomes = Vec::new();
    for contender in &CONTENDERS {
        let outcome = Outcome::of(contender, devices());
        let (ndr, pdr) = (outcome.spread(0), outcome.spread(1));
        let (name, trials, traffic) = (contender.name, outcome.trials, outcome.traffic_s);
        writeln!(table, "| {name} | {trials:.0} | {traffic:.1} s | {ndr} | {pdr} |")
            .expect("a string takes all");
        outcomes.push(outcome);
    }
    println!("{table}");
    outcomes
}

/// The same device on fifty days.
#[test]
fn mlrsearch_takes_an_eighth_of_plain_binary_searchs_traffic_and_scatters_no_more() {
    for capacity in [123_456.0, 333_333.0, 500_000.0, 612_345.0, 870_000.0] {
        let devices = || (0..SEEDS).map(|seed| Device::new(capacity, seed, true));
        let outcomes = compare(&format!("{capacity} frames/s, stalling"), devices);
        let (plain, mlr) = (&outcomes[0], &outcomes[3]);
        assert!(mlr.traffic_s <= plain.traffic_s / 8.0, "{} of {}", mlr.traffic_s, plain.traffic_s);
        for goal in 0..2 {
            let (plain, mlr) = (plain.spread(goal), mlr.spread(goal));
            assert!(mlr.iqr <= plain.iqr, "goal {goal}: {mlr} against {plain}");
            assert!(mlr.range() <= plain.range(), "goal {goal}: {mlr} against {plain}");
            assert!((0.99..=1.005).contains(&mlr.median), "goal {goal}: {mlr}");
        }
    }
}

#[test]
fn without_stalls_all_find_the_same() {
    let mut chance = Pcg64::seed_from_u64(0);
    let capacities: Vec<f64> = (0..SEEDS).map(|_| MAX.0 * chance.random_range(0.1..0.9)).collect();
    let devices = || capacities.iter().map(|capacity| Device::new(*capacity, 0, false));
    let outcomes = compare("fifty capacities, none stalling", devices);
    for (contender, outcome) in CONTENDERS.iter().zip(outcomes) {
        for spread in [outcome.spread(0), outcome.spread(1)] {
            // What a trial of 0.3 s makes of a queue of 256 frames is 0.9 % of the slowest.
            assert!(spread.least > 0.994 && spread.most < 1.01, "{}: {spread}", contender.name);
        }
    }
}

/// Why [`begin`] searches apart for goals of different trial lengths: in one MLRsearch a stall in a
/// single trial of 60 s moves the non-drop rate that 21 trials of a second are to hold still.
#[test]
fn goals_of_long_trials_would_disturb_those_of_short_ones() {
    const GOALS: [Goal; 3] = [Goal::ndr(), Goal::pdr(), Goal::rfc2544()];
    let together = Contender { name: "together", searches: || mlr(&GOALS) };
    let apart = Contender { name: "apart", searches: || vec![begin(&GOALS, RANGE)] };
    let found = |contender: &Contender| {
        let devices = (0..SEEDS).map(|seed| Device::new(612_345.0, seed, true));
        let ndr = Outcome::of(contender, devices).spread(0);
        println!("NDR searched for {} with rfc2544: {ndr}", contender.name);
        ndr
    };
    let (together, apart) = (found(&together), found(&apart));
    assert!(apart.range() < 0.005 && apart.range() < together.range(), "{apart} and {together}");
}
