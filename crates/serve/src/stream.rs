//! A run's events as the body of an answer that has no end of its own.
//!
//! Owns its own end: with the run, or where the page did not keep up. Never reads the journal.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use crate::refusal::{Counts, Refusal};

/// Interval of signs of life to a page; they also reveal a page that has gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

type Next = Pin<Box<dyn Future<Output = (Option<Bytes>, Receiver<Bytes>)> + Send>>;

/// The events of a run, from now on.
pub(crate) struct Events {
    next: Option<Next>,
    counts: Arc<Counts>,
}

impl Events {
    pub(crate) fn new(events: Receiver<Bytes>, counts: Arc<Counts>) -> Self {
        counts.stream();
        Self { next: Some(next(events, Arc::clone(&counts))), counts }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.counts.stream_ended();
    }
}

/// Waits for the next event. A page that fell behind asks again, and then gets all that is known.
fn next(mut events: Receiver<Bytes>, counts: Arc<Counts>) -> Next {
    Box::pin(async move {
        let event = match timeout(SIGN_OF_LIFE, events.recv()).await {
            Ok(Ok(event)) => Some(event),
            Ok(Err(RecvError::Lagged(_))) => {
                counts.refuse(Refusal::Stalled);
                None
            }
            Ok(Err(RecvError::Closed)) => None,
            Err(_) => Some(Bytes::from_static(b": still here\n\n")),
        };
        (event, events)
    })
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(waiting) = &mut self.next else { return Poll::Ready(None) };
        let (event, events) = ready!(waiting.as_mut().poll(context));
        let counts = Arc::clone(&self.counts);
        self.next = event.is_some().then(|| next(events, counts));
        Poll::Ready(event.map(|event| Ok(Frame::data(event))))
    }
}
