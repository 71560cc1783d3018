//! What flags or a plan ask of a switching study, and the complete request that it comes to.
//!
//! Owns the defaults by profile, and which tests a suite's name stands for. Never runs a study, and
//! never says where a text stood: that is the caller's.

use measure::{FrameSize, Nanos, Rate};
use method::study::switching::NoSuchTest;
use method::{Profile, StudySpec, SwitchTest, SwitchingSpec};
use trial::{Backend, Subject};

use super::study::replace;

/// A switching study with only what was said; the rest comes from the profile.
#[derive(Debug, Clone, Default)]
pub struct SwitchingAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Empty: RFC 2889's.
    pub tests: Vec<SwitchTest>,
    /// Empty: the profile's.
    pub frames: Vec<FrameSize>,
    /// The profile's where nothing is said.
    pub ports: Option<u32>,
    /// Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// The fastest that works where nothing is said.
    pub backend: Option<Backend>,
    /// The load phase.
    pub duration: Option<Nanos>,
    /// The confirming trial of a search.
    pub final_duration: Option<Nanos>,
    /// Where a search stops, relative.
    pub precision: Option<f64>,
    /// The most stations to try.
    pub stations: Option<u32>,
    /// At how many frames a second they speak.
    pub learn_rate: Option<u64>,
}

impl SwitchingAsk {
    /// The complete request, on links of `link_rate` where that is known.
    pub fn resolve(self, link_rate: Option<Rate>) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => SwitchingSpec::strict(),
            _ => SwitchingSpec::quick(),
        };
        replace(&mut spec.tests, self.tests);
        replace(&mut spec.frames, self.frames);
        spec.ports = self.ports.unwrap_or(spec.ports);
        spec.subjects = self.subjects;
        spec.backend = self.backend.unwrap_or(spec.backend);
        spec.duration = self.duration.unwrap_or(spec.duration);
        // A confirming trial is never shorter than those that led to it.
        spec.final_duration = self.final_duration.unwrap_or(spec.final_duration).max(spec.duration);
        spec.precision = self.precision.unwrap_or(spec.precision);
        spec.stations = self.stations.unwrap_or(spec.stations);
        spec.learn_rate = self.learn_rate.unwrap_or(spec.learn_rate);
        spec.link_rate = link_rate;
        StudySpec::Switching(spec)
    }
}

/// Reads a test's name, or that of a suite, which is all of its tests.
pub fn tests(text: &str) -> Result<Vec<SwitchTest>, NoSuchTest> {
    match text {
        "rfc2889" => Ok(SwitchTest::RFC2889.to_vec()),
        "rfc8239" => Ok(SwitchTest::RFC8239.to_vec()),
        name => Ok(vec![name.parse()?]),
    }
}

/// Each once, in the order of the RFCs whatever was named first: what a test needs to know of an
/// earlier one is known by then.
pub fn in_order(named: impl IntoIterator<Item = SwitchTest>) -> Vec<SwitchTest> {
    let named: Vec<SwitchTest> = named.into_iter().collect();
    let all = SwitchTest::RFC2889.into_iter().chain(SwitchTest::RFC8239);
    all.filter(|test| named.contains(test)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_tests_have_names() {
        assert_eq!(tests("rfc2889").expect("a suite").len(), 11);
        assert_eq!(tests("microburst"), Ok(vec![SwitchTest::Microburst]));
        assert!(tests("rfc2544").is_err());
        let named = [SwitchTest::Incast, SwitchTest::Mesh, SwitchTest::Incast];
        assert_eq!(in_order(named), [SwitchTest::Mesh, SwitchTest::Incast]);
    }

    #[test]
    fn what_is_left_open_comes_from_the_profile() {
        let resolved = SwitchingAsk::default().resolve(None);
        assert_eq!(resolved, StudySpec::Switching(SwitchingSpec::quick()));
        let ask = SwitchingAsk { duration: Some(Nanos::from_secs(7)), ..SwitchingAsk::default() };
        let StudySpec::Switching(longer) = ask.resolve(Some(Rate(5))) else { panic!() };
        assert_eq!((longer.final_duration, longer.link_rate), (longer.duration, Some(Rate(5))));
    }
}
