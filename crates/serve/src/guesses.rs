//! Limit on guesses of the token: so many at a time on one server, from whatever source.
//!
//! Owns that bound. A wrong token keeps its place for a while, even if its sender disconnects; a
//! right one waits for a place and gives it back at once. Never keeps a token.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::refusal::{Counts, Refusal};
use crate::token::Token;

/// Maximum guesses checked within [`WRONG`].
const AT_ONCE: usize = 16;
/// Time for which a wrong token occupies its place.
const WRONG: Duration = Duration::from_millis(500);

/// Places for guesses, given in the order in which they are asked for.
pub(crate) struct Guesses(Arc<Semaphore>);

impl Guesses {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// True if a text is the token; a wrong one is answered late.
    pub(crate) async fn is_right(&self, token: &Token, said: &str, counts: &Counts) -> bool {
        let Ok(place) = Arc::clone(&self.0).acquire_owned().await else { return false };
        if token.is(said) {
            return true;
        }
        counts.refuse(Refusal::Token);
        let kept = tokio::spawn(async move {
            sleep(WRONG).await;
            drop(place);
        });
        let _ = kept.await;
        false
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    const RIGHT: &str = "a-token-of-many-characters";

    #[test]
    fn guesses_are_bounded_and_the_right_token_gets_in() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let token = Token::new(RIGHT).expect("a token");
            let (guesses, counts) = (Guesses::new(), Counts::default());
            assert!(guesses.is_right(&token, RIGHT, &counts).await);
            let began = Instant::now();
            // Whoever does not wait for the answer has used the place up all the same.
            for _ in 0..AT_ONCE {
                let wrong = guesses.is_right(&token, "another-token-altogether", &counts);
                assert!(timeout(Duration::from_millis(1), wrong).await.is_err(), "told too early");
            }
            let wrong = guesses.is_right(&token, "another-token-altogether", &counts);
            assert!(!wrong.await);
            assert!(began.elapsed() >= WRONG * 2, "{:?}", began.elapsed());
            assert!(guesses.is_right(&token, RIGHT, &counts).await);
        });
    }
}
